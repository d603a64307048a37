"use strict";
/*
 * Contacts.
 *
 * data-t            data-k       what
 * contacts.new                   a new contact
 * contacts.search                field; searches while it is written into
 * contacts.company               choice: all, or one company
 * contacts.row      id           a person of the list
 * contacts.newer, contacts.older pages
 * contacts.back                  phone: from a person to the list
 * contacts.edit, contacts.delete, contacts.mail (writes to the person)
 * contacts.name, contacts.email, contacts.phone, contacts.company-field, contacts.note
 *                                fields of the form; dialog.ok saves
 */
office.apps.contacts = () => ({});
