"use strict";
/*
 * Calendar.
 *
 * data-t            data-k       what
 * calendar.new                   a new event
 * calendar.prev, calendar.next, calendar.today
 * calendar.view                  choice: month, week, day, list
 * calendar.search                field; Enter lists what is found in all months
 * calendar.day      YYYY-MM-DD   an empty place in a day: a new event there
 * calendar.number   YYYY-MM-DD   the number of a day: shows that day
 * calendar.event    id           an event
 * calendar.more     YYYY-MM-DD   "+2 more": shows that day
 * calendar.edit, calendar.duplicate, calendar.delete     in the window of an event
 * calendar.title, calendar.date, calendar.start, calendar.end, calendar.place, calendar.guests,
 *   calendar.note                fields of the form; dialog.ok saves
 *
 * Keys: n new, t today, arrows left and right, m month, w week, d day, l list.
 */
office.apps.calendar = () => ({});
