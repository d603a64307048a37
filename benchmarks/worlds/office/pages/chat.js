"use strict";
/*
 * Chat.
 *
 * data-t            data-k       what
 * chat.channel      name         "#general", or a person
 * chat.back                      phone: from a conversation to the list
 * chat.search                    field; Enter searches in all conversations
 * chat.clear                     ends the search
 * chat.found        id           a message that was found: shows it in its conversation
 * chat.earlier                   older messages
 * chat.text                      field; Enter sends, Shift+Enter begins a line
 * chat.send
 * chat.pins                      window: the pinned messages
 * chat.message      id           a message (not to be clicked)
 * chat.pin          id           pins it or takes the pin away
 * chat.edit, chat.delete   id    own messages only
 * chat.edit-text                 field of the window in which a message is edited
 */
office.apps.chat = () => ({});
