"use strict";
/*
 * Mail.
 *
 * data-t            data-k       what
 * mail.folder       folder       Inbox, Starred, Drafts, Sent, Archive, Trash
 * mail.compose                   a new message
 * mail.search                    field; Enter searches in the folder, Escape clears
 * mail.clear                     ends the search
 * mail.filter                    choice: all, unread, starred, files
 * mail.newer, mail.older         pages
 * mail.row          id           a message of the list (in Drafts: of the table drafts)
 * mail.check        id           its checkbox
 * mail.star         id           its star
 * mail.all                       checks the whole page
 * mail.bulk-archive, mail.bulk-delete, mail.bulk-inbox, mail.bulk-read, mail.bulk-unread
 * mail.back                      from a message to the list
 * mail.reply, mail.reply-all, mail.forward, mail.archive, mail.delete, mail.inbox, mail.unread
 * mail.star-open                 the star of the open message
 * mail.view         number       an attachment's text, from 0
 * mail.save         number       saves it to Downloads
 * mail.to, mail.cc, mail.subject, mail.body    fields of a new message
 * mail.person       address      a suggestion below To or Cc
 * mail.attach                    window: choose a file (mail.attach-file, data-k: id)
 * mail.detach       id           takes an attachment away again
 * mail.send, mail.discard, mail.close (keeps a draft)
 *
 * Keys: c compose, / search, r reply, f forward, e archive, # delete, Ctrl+Enter send.
 */
