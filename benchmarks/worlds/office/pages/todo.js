"use strict";
/*
 * To-do.
 *
 * data-t            data-k       what
 * todo.list         name         All, Work, Personal
 * todo.filter                    choice: open, today, overdue, done, all
 * todo.search                    field; searches while it is written into
 * todo.sort                      choice: due, priority, title
 * todo.quick                     field: Enter adds a task to the list that is shown
 * todo.new                       window: a new task
 * todo.row          id           a task (not to be clicked)
 * todo.done         id           its checkbox
 * todo.edit         id           window: edit; dialog.ok saves
 * todo.delete       id           asks again: dialog.ok
 * todo.title, todo.list-field, todo.due, todo.priority, todo.note      fields of the form
 */
office.apps.todo = () => ({});
