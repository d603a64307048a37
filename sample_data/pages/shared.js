// Icons and desktop shells shared by the pages. Classic script: a page opened from disk may not load modules.
// Every icon is drawn for this folder on a 24 x 24 grid; class "f" marks a filled shape.
const ICONS = {
  search: '<circle cx="10.5" cy="10.5" r="6"/><path d="M15 15l5.5 5.5"/>',
  gear: '<circle cx="12" cy="12" r="3"/><circle cx="12" cy="12" r="6.4"/><path d="M12 2.8v2.6M12 18.600v2.600M2.8 12h2.600M18.6 12h2.600M5.5 5.500l1.9 1.900M16.6 16.600l1.9 1.900M5.5 18.500l1.9-1.900M16.6 7.400l1.9-1.9"/>',
  home: '<path d="M4 11l8-7 8 7v9h-5.500v-6h-5v6H4z"/>',
  bell: '<path d="M6 17v-6a6 6 0 0 1 12 0v6l1.5 1.500h-15z"/><path d="M10 21h4"/>',
  user: '<circle cx="12" cy="8" r="4"/><path d="M4.5 20.500c1-4.5 4-6 7.5-6s6.5 1.5 7.5 6"/>',
  users:
    '<circle cx="9" cy="8.5" r="3.5"/><path d="M2.5 19.500c.8-4 3.5-5.5 6.5-5.500s5.7 1.5 6.5 5.5"/><path d="M15.5 5.300a3.5 3.5 0 0 1 0 6.500M17.5 14.400c2 .7 3.5 2.3 4 5.1"/>',
  userplus: '<circle cx="10" cy="8" r="4"/><path d="M3 20.500c1-4.5 3.7-6 7-6s6 1.5 7 6M19 5v6M16 8h6"/>',
  plus: '<path d="M12 5v14M5 12h14"/>',
  minus: '<path d="M5 12h14"/>',
  x: '<path d="M6 6l12 12M18 6L6 18"/>',
  check: '<path d="M5 12.500l4.5 4.500L19 7.5"/>',
  left: '<path d="M15 5l-7 7 7 7"/>',
  right: '<path d="M9 5l7 7-7 7"/>',
  up: '<path d="M5 15l7-7 7 7"/>',
  down: '<path d="M5 9l7 7 7-7"/>',
  aleft: '<path d="M20 12H4M10 6l-6 6 6 6"/>',
  aright: '<path d="M4 12h16M14 6l6 6-6 6"/>',
  aup: '<path d="M12 20V4M6 10l6-6 6 6"/>',
  menu: '<path d="M4 7h16M4 12h16M4 17h16"/>',
  dots: '<circle class="f" cx="5.5" cy="12" r="1.7"/><circle class="f" cx="12" cy="12" r="1.7"/><circle class="f" cx="18.5" cy="12" r="1.7"/>',
  vdots:
    '<circle class="f" cx="12" cy="5.5" r="1.7"/><circle class="f" cx="12" cy="12" r="1.7"/><circle class="f" cx="12" cy="18.5" r="1.7"/>',
  folder: '<path d="M3 6.500h6.500l2 2.500H21v10.500H3z"/>',
  file: '<path d="M6 3h8l4.5 4.500V21H6z"/><path d="M14 3v5h4.5"/>',
  image:
    '<rect x="3.5" y="5" width="17" height="14" rx="1.5"/><circle cx="8.5" cy="9.5" r="1.6"/><path d="M4 17.500l5-4.5 3.5 3 3.5-4 4.5 5"/>',
  music: '<path d="M9 18V6l10-2v12"/><circle cx="6.5" cy="18" r="2.5"/><circle cx="16.5" cy="16" r="2.5"/>',
  video: '<rect x="3" y="6" width="12.5" height="12" rx="2"/><path d="M15.5 11l5.5-3.500v9L15.5 13"/>',
  download: '<path d="M12 3.500v11.500M7 10.500l5 5 5-5M4 20h16"/>',
  trash: '<path d="M4.5 7h15M9.5 7V4h5v3M6.5 7l1 13.500h9l1-13.500M10.5 11v6M13.5 11v6"/>',
  edit: '<path d="M4 20l1-4.500L16 4.500l3.5 3.500L8.5 19zM13.5 7l3.5 3.5"/>',
  compose: '<path d="M12 5H5v14.500h14V13"/><path d="M10 14.500l.6-3L18.5 3.500l2.5 2.5-8 8z"/>',
  share: '<path d="M12 15V3.500M8 7.500l4-4 4 4M7.5 11H5v10h14V11h-2.5"/>',
  star: '<path d="M12 3.500l2.6 5.6 6.1.7-4.5 4.2 1.2 6-5.4-3-5.4 3 1.2-6-4.5-4.2 6.1-.7z"/>',
  starf: '<path class="f" d="M12 3l2.7 5.8 6.3.8-4.6 4.3 1.2 6.300L12 17.100l-5.6 3.1 1.2-6.300L3 9.600l6.3-.8z"/>',
  heart:
    '<path d="M12 20C6 16 3.5 12.6 3.5 9.200A4.3 4.3 0 0 1 12 7.700a4.3 4.3 0 0 1 8.5 1.500C20.5 12.6 18 16 12 20z"/>',
  heartf:
    '<path class="f" d="M12 20.500C6 16.3 3 12.8 3 9.200A4.7 4.7 0 0 1 12 7a4.7 4.7 0 0 1 9 2.200c0 3.6-3 7.1-9 11.300z"/>',
  cart: '<path d="M2.5 4H6l2.5 11.500h9.500L20.5 8H7"/><circle cx="10" cy="19.5" r="1.5"/><circle cx="17" cy="19.5" r="1.5"/>',
  mail: '<rect x="3" y="5.5" width="18" height="13" rx="1.5"/><path d="M3.5 7l8.5 6.500L20.5 7"/>',
  send: '<path d="M4 4l17 8-17 8 2.5-8zM6.5 12H14"/>',
  inbox: '<path d="M3.5 13.500L6.5 5h11l3 8.500V19h-17zM3.5 13.500h5l1.2 2.500h4.600l1.2-2.500h5"/>',
  archive: '<rect x="3.5" y="4.5" width="17" height="4.5"/><path d="M5 9v10.500h14V9M10 13h4"/>',
  flag: '<path d="M6 21V4h12l-3 4 3 4H6"/>',
  eject: '<path class="f" d="M12 5l8 9.5H4z"/><path d="M4.5 18.5h15" stroke-width="2.4"/>',
  reply: '<path d="M9 6L4 11l5 5M4.5 11H14c4 0 6 2.5 6 7"/>',
  replyall: '<path d="M7.5 6l-5 5 5 5M12.5 6l-5 5 5 5M8 11h7.500c3.5 0 5.5 2.5 5.5 7"/>',
  forward: '<path d="M15 6l5 5-5 5M19.5 11H10c-4 0-6 2.5-6 7"/>',
  clock: '<circle cx="12" cy="12" r="8.5"/><path d="M12 7v5l3.5 2.5"/>',
  alarm: '<circle cx="12" cy="13" r="7"/><path d="M12 9v4l2.5 2M3 7l3.5-3.500M21 7l-3.5-3.5"/>',
  stopwatch: '<circle cx="12" cy="14" r="7"/><path d="M12 14V9.500M9.5 3h5M12 3v4M18 7l1.5 1.5"/>',
  timer: '<path d="M6.5 3h11M6.5 21h11M7.5 3c0 5 4.5 6 4.5 9s-4.5 4-4.5 9M16.5 3c0 5-4.5 6-4.5 9s4.5 4 4.5 9"/>',
  calendar: '<rect x="3.5" y="5" width="17" height="15.5" rx="1.5"/><path d="M3.5 10h17M8 3v4M16 3v4"/>',
  mic: '<rect x="9" y="3" width="6" height="11" rx="3"/><path d="M5.5 11.500a6.5 6.5 0 0 0 13 0M12 18v3.5"/>',
  pin: '<path d="M12 21c-4.5-5-6.5-8.2-6.5-11a6.5 6.5 0 0 1 13 0c0 2.8-2 6-6.5 11z"/><circle cx="12" cy="10" r="2.4"/>',
  locate: '<path d="M20.5 3.500L3.5 11l7.5 2 2 7.500z"/>',
  layers: '<path d="M12 3.500l9 5-9 5-9-5zM3.5 12.500l8.5 4.7 8.5-4.700M3.5 16.500l8.5 4.7 8.5-4.7"/>',
  lock: '<rect x="5" y="10.5" width="14" height="10" rx="1.5"/><path d="M8 10.500V8a4 4 0 0 1 8 0v2.5"/>',
  shield: '<path d="M12 3l8 3v6c0 5-3.5 7.8-8 9.500C7.5 19.8 4 17 4 12V6z"/>',
  wifi: '<path d="M2.5 9.500a14 14 0 0 1 19 0M5.8 13a9.3 9.3 0 0 1 12.4 0M9 16.300a4.6 4.6 0 0 1 6 0"/><circle class="f" cx="12" cy="19.5" r="1.4"/>',
  signal:
    '<rect class="f" x="2.5" y="15" width="3.6" height="5" rx="1"/><rect class="f" x="7.7" y="12" width="3.6" height="8" rx="1"/><rect class="f" x="12.9" y="8.5" width="3.6" height="11.5" rx="1"/><rect class="f" x="18.1" y="5" width="3.6" height="15" rx="1"/>',
  battery:
    '<rect x="1.5" y="7" width="18.5" height="10" rx="2.5"/><rect class="f" x="3.5" y="9" width="11.5" height="6" rx="1"/><path d="M22.5 10.500v3"/>',
  volume: '<path d="M3.5 9.500v5H7l5 4.500V5L7 9.500zM15.5 9a4.5 4.5 0 0 1 0 6M18 6.500a8 8 0 0 1 0 11"/>',
  sun: '<circle cx="12" cy="12" r="4"/><path d="M12 2.500v2.500M12 19v2.500M2.5 12H5M19 12h2.500M5.3 5.300L7 7M17 17l1.7 1.700M5.3 18.700L7 17M17 7l1.7-1.7"/>',
  moon: '<path d="M19.5 14.500A8.5 8.5 0 0 1 9.5 4.500a8 8 0 1 0 10 10z"/>',
  monitor: '<rect x="3" y="4.5" width="18" height="12" rx="1.5"/><path d="M9 20.500h6M12 16.500v4"/>',
  keyboard:
    '<rect x="2.5" y="6" width="19" height="12" rx="1.5"/><path d="M6 10h.5M9.5 10h.5M13 10h.5M16.5 10h1.500M7.5 14.500h9"/>',
  globe: '<circle cx="12" cy="12" r="8.5"/><path d="M3.5 12h17M12 3.500c-5 5-5 12 0 17M12 3.500c5 5 5 12 0 17"/>',
  filter: '<path d="M3.5 5h17l-6.5 8v6.500l-4-2V13z"/>',
  sliders: '<path d="M4 7h9M17 7h3M4 17h3M11 17h9"/><circle cx="15" cy="7" r="2"/><circle cx="9" cy="17" r="2"/>',
  sort: '<path d="M8 4v16M4.5 16.500L8 20l3.5-3.500M16 20V4M12.5 7.500L16 4l3.5 3.5"/>',
  grid: '<rect x="4" y="4" width="6.5" height="6.5" rx="1"/><rect x="13.5" y="4" width="6.5" height="6.5" rx="1"/><rect x="4" y="13.5" width="6.5" height="6.5" rx="1"/><rect x="13.5" y="13.5" width="6.5" height="6.5" rx="1"/>',
  list: '<path d="M8.5 6H20M8.5 12H20M8.5 18H20M4 6h.5M4 12h.5M4 18h.5"/>',
  refresh: '<path d="M19.5 12a7.5 7.5 0 1 1-2.2-5.300L20 9.300M20 4v5.300h-5.3"/>',
  undo: '<path d="M8 5L4 9l4 4M4.5 9H14a5.5 5.5 0 0 1 0 11H8"/>',
  redo: '<path d="M16 5l4 4-4 4M19.5 9H10a5.5 5.5 0 0 0 0 11h6"/>',
  copy: '<rect x="8.5" y="8.5" width="11.5" height="12" rx="1.5"/><path d="M15.5 8.500V4H4v12h4.5"/>',
  cut: '<circle cx="6.5" cy="18" r="2.7"/><circle cx="17.5" cy="18" r="2.7"/><path d="M8 15.800L17 3.500M16 15.800L7 3.5"/>',
  paste: '<rect x="5" y="5" width="14" height="16" rx="1.5"/><path d="M9 3h6v4H9zM8.5 12h7M8.5 16h7"/>',
  rename:
    '<rect x="3" y="7.5" width="18" height="9" rx="1.5"/><path d="M6.5 12h4M15 4.500v15M13 4.500h4M13 19.500h4"/>',
  bold: '<path d="M7 4.500h6a3.7 3.7 0 0 1 0 7.500H7zM7 12h7a3.8 3.8 0 0 1 0 7.500H7z" stroke-width="2.6"/>',
  italic: '<path d="M10 4.500h7M7 19.500h7M14 4.500l-4 15"/>',
  underline: '<path d="M7 4v8a5 5 0 0 0 10 0V4M5.5 20.500h13"/>',
  alignl: '<path d="M4 6h16M4 10.500h10M4 15h16M4 19.500h10"/>',
  alignc: '<path d="M4 6h16M7 10.500h10M4 15h16M7 19.500h10"/>',
  alignr: '<path d="M4 6h16M10 10.500h10M4 15h16M10 19.500h10"/>',
  chart: '<path d="M4 4v16h16"/><path d="M8.5 16v-5M13 16V7M17.5 16v-7" stroke-width="2.6"/>',
  line: '<path d="M4 4v16h16M7 15l4-5 3.5 3L20 6"/>',
  table: '<rect x="3.5" y="4.5" width="17" height="15"/><path d="M3.5 9.500h17M3.5 14.500h17M9 4.500v15M15 4.500v15"/>',
  sum: '<path d="M18 7V4.500H6l6.5 7.500L6 19.500h12V17"/>',
  fill: '<path d="M10.5 4l8 8-7 7-7.5-7.500zM4 11.500h14"/><path class="f" d="M20.5 15c1.3 2 1.8 2.8 1.8 3.700a1.8 1.8 0 0 1-3.6 0c0-.9.5-1.7 1.8-3.700z"/>',
  merge: '<rect x="3.5" y="5" width="17" height="14"/><path d="M6.5 12h4M8.5 10l2 2-2 2M17.5 12h-4M15.5 10l-2 2 2 2"/>',
  percent: '<circle cx="7" cy="7.5" r="2.5"/><circle cx="17" cy="16.5" r="2.5"/><path d="M18.5 5l-13 14"/>',
  save: '<path d="M4 4h13l3 3v13H4zM8 4v5h7V4M7.5 20v-7h9v7"/>',
  zoomin: '<circle cx="10.5" cy="10.5" r="6"/><path d="M15 15l5.5 5.500M8 10.500h5M10.5 8v5"/>',
  zoomout: '<circle cx="10.5" cy="10.5" r="6"/><path d="M15 15l5.5 5.500M8 10.500h5"/>',
  rotate: '<rect x="4" y="10" width="11" height="10"/><path d="M9 5.500h5a6 6 0 0 1 6 6v1M11.5 3L9 5.5 11.5 8"/>',
  info: '<circle cx="12" cy="12" r="8.5"/><path d="M12 11v5.500M12 7.500v.2"/>',
  help: '<circle cx="12" cy="12" r="8.5"/><path d="M9.5 9.700a2.5 2.5 0 1 1 3.5 2.300c-.7.3-1 .8-1 1.700M12 16.700v.2"/>',
  eye: '<path d="M2.5 12c2.5-4.5 5.5-6.5 9.5-6.500s7 2 9.5 6.500c-2.5 4.5-5.5 6.5-9.5 6.500S5 16.5 2.5 12z"/><circle cx="12" cy="12" r="2.8"/>',
  tag: '<path d="M4 4h8l8.5 8.5-8 8L4 12z"/><circle cx="8.3" cy="8.3" r="1.3"/>',
  car: '<path d="M4 17v-5l2-5.500h12l2 5.500v5zM4 12h16M6 17v2.500M18 17v2.500M7.5 14.500h1M15.5 14.500h1"/>',
  bus: '<rect x="4.5" y="4" width="15" height="14" rx="2"/><path d="M4.5 12h15M7.5 18v2.500M16.5 18v2.500M8 15h.5M15.5 15h.5"/>',
  walk: '<circle cx="13" cy="4.5" r="1.8"/><path d="M9 12l1.5-4 3-.5 1.5 3.5 3 1M13 8.500L12 14l3.5 3 .5 4.500M12 14l-2 3.500L7 21"/>',
  bike: '<circle cx="6" cy="16" r="3.7"/><circle cx="18" cy="16" r="3.7"/><path d="M6 16l4-7h5l3 7M10 9l3.5 7H6M15 9l-.7-2.500H17"/>',
  plane:
    '<path d="M3 13.500l2-1 3 1.5 4-2.2-6-5.3 2-1 8.5 3.8 3-1.600c1-.5 2.3-.2 2.6.5.3.7-.3 1.6-1.2 2.100L9 16.800c-1.5.7-3 .5-4-.6z"/><path d="M4 20.500h16"/>',
  bed: '<path d="M3 19.500V6M3 16.500h18v3M21 16.500V12a2 2 0 0 0-2-2h-8v6.5"/><circle cx="7" cy="12" r="2"/>',
  fuel: '<path d="M5 20.500V4h9v16.500M3.5 20.500h12M5 10h9M14 13h2.500v4.500a1.7 1.7 0 0 0 3.4 0V9L17 6"/>',
  coffee: '<path d="M5 9h12v6a5 5 0 0 1-5 5h-2a5 5 0 0 1-5-5zM17 10.500h1.500a2.5 2.5 0 0 1 0 5H17M9 3v3M13 3v3"/>',
  card: '<rect x="3" y="5.5" width="18" height="13" rx="2"/><path d="M3 10h18M6.5 15h4"/>',
  qr: '<rect x="4" y="4" width="6" height="6"/><rect x="14" y="4" width="6" height="6"/><rect x="4" y="14" width="6" height="6"/><path d="M14 14h2.500v2.500M20 14v2.500M14 20h2.500M20 20v-.5M18 18.500v.5"/>',
  swap: '<path d="M4 8.500h15M15 4.500l4 4-4 4M20 15.500H5M9 11.500l-4 4 4 4"/>',
  bank: '<path d="M3.5 9.500L12 4l8.5 5.500zM5 20.500h14M6.5 10v7.500M10 10v7.500M14 10v7.500M17.5 10v7.5"/>',
  bulb: '<path d="M9 17.500h6M10 21h4M8.5 15C6.5 13.5 5.5 12 5.5 9.500a6.5 6.5 0 0 1 13 0c0 2.5-1 4-3 5.500z"/>',
  receipt: '<path d="M5.5 3.500v17l2.2-1.5 2.1 1.5 2.2-1.5 2.2 1.5 2.1-1.5 2.2 1.500v-17zM9 8.500h6M9 12.500h6"/>',
  palette:
    '<path d="M12 3.500a8.5 8.5 0 1 0 0 17c1.5 0 2-1 1.5-2.2-.6-1.5.3-2.8 2-2.800h2.500c1.5 0 2.5-1.3 2.5-3C20.5 7 16.5 3.5 12 3.500z"/><circle class="f" cx="8" cy="10" r="1.3"/><circle class="f" cx="12" cy="7.5" r="1.3"/><circle class="f" cx="16" cy="10" r="1.3"/>',
  terminal: '<path d="M4 6l6 6-6 6M12 18.500h8.5"/>',
  code: '<path d="M8.5 6L3 12l5.5 6M15.5 6l5.5 6-5.5 6"/>',
  play: '<path class="f" d="M7 4.500l12.5 7.500L7 19.500z"/>',
  box: '<path d="M12 3l8.5 4.500v9L12 21l-8.5-4.500v-9zM3.5 7.500L12 12l8.5-4.500M12 12v9"/>',
  clip: '<path d="M18.5 11l-7 7a4.5 4.5 0 0 1-6.4-6.400l7.5-7.500a3 3 0 0 1 4.3 4.300l-7.3 7.200a1.5 1.5 0 0 1-2.2-2.100l6.3-6.3"/>',
  smile: '<circle cx="12" cy="12" r="8.5"/><path d="M8 14c1 2 2.3 3 4 3s3-1 4-3M9 9.500v.5M15 9.500v.5"/>',
  power: '<path d="M12 3v8.500M7 6.500a7.5 7.5 0 1 0 10 0"/>',
  link: '<path d="M10 14a4 4 0 0 0 5.7 0l3.3-3.300A4 4 0 0 0 13.3 5L12 6.300M14 10a4 4 0 0 0-5.7 0L5 13.300A4 4 0 0 0 10.7 19l1.3-1.3"/>',
  panel: '<rect x="3.5" y="5" width="17" height="14" rx="1.5"/><path d="M9.5 5v14"/>',
  square: '<rect x="6" y="6" width="12" height="12"/>',
  checkbox: '<rect x="4" y="4" width="16" height="16" rx="3"/><path d="M8 12.500l3 3 5.5-6.5"/>',
  bag: '<path d="M5 8h14l1 12.500H4zM8.5 8V7a3.5 3.5 0 0 1 7 0v1"/>',
  access: '<circle cx="12" cy="5" r="1.8"/><path d="M5 9l7 1.500L19 9M12 10.500v4l-3.5 6M12 14.500l3.5 6"/>',
  usb: '<path d="M8 10.500V4h8v6.500M6 10.500h12v5a5 5 0 0 1-5 5h-2a5 5 0 0 1-5-5zM11 7h.2M13.5 7h.2"/>',
  game: '<rect x="2.5" y="7" width="19" height="11" rx="5.5"/><path d="M7.5 10.500v4M5.5 12.500h4M15.5 11.500h.2M17.5 14h.2"/>',
  flame:
    '<path d="M12 3c1 4 5.5 6 5.5 11a5.5 5.5 0 0 1-11 0c0-2.5 1.2-4 2.5-5.5.3 1.5 1 2.3 1.8 2.500C10.5 8 10.5 5.5 12 3z"/>',
  trophy:
    '<path d="M7.5 4h9v6a4.5 4.5 0 0 1-9 0zM7.5 6H4c0 3.5 1.5 5 3.8 5.200M16.5 6H20c0 3.5-1.5 5-3.8 5.200M12 14.500V18M8 20.500h8"/>',
  book: '<path d="M12 6.500C9.5 4.5 6.5 4.5 3.5 5v13.500c3-.5 6-.5 8.5 1.5 2.5-2 5.5-2 8.5-1.500V5c-3-.5-6-.5-8.5 1.500zM12 6.500V20"/>',
  brush: '<path d="M20 4L10.5 13.500M12.5 15.500L9 19c-2 1.5-4.5 1.5-5.5 1 1.5-1 1-3 2.5-4.500L9.5 12"/>',
  seal: '<circle cx="12" cy="12" r="8.5"/><path class="f" d="M12 6a6 6 0 0 1 6 6h-6zM12 18a6 6 0 0 1-6-6h6z"/>',
};

const icon = (name) => `<svg class="ic" viewBox="0 0 24 24" aria-hidden="true">${ICONS[name]}</svg>`;

const windowButtons = () =>
  ["minus", "square", "x"]
    .map((n, k) => `<button data-target="${["minimise", "maximise", "close"][k]}">${icon(n)}</button>`)
    .join("");

// Each shell fills <div data-shell="..."> so that three pages of a platform share one taskbar, dock or status bar.
const SHELLS = {
  taskbar: (on) => {
    const apps = [
      ["start", "seal", "#0b63b5"],
      ["search", "search", "#59636e"],
      ["files", "folder", "#d9982b"],
      ["browser", "globe", "#2277c9"],
      ["mail", "mail", "#3a6ea5"],
      ["sheets", "table", "#1e7f4f"],
      ["store", "bag", "#5b4fb0"],
      ["settings", "gear", "#5d6672"],
    ];
    return `<div class="mid">${apps.map(([n, i, c]) => `<div class="app center ${n === on ? "on" : ""}" data-target="task-${n}"><b class="center" style="background:${c}">${icon(i)}</b></div>`).join("")}</div>
      <div class="tray">${icon("up")}${icon("wifi")}${icon("volume")}${icon("battery")}<div class="time">10:42 AM<br>4/16/2025</div>${icon("bell")}</div>`;
  },
  winbtns: windowButtons,
  menubar: (items) => {
    const [app, ...rest] = items.split("|");
    return `${icon("seal")}<b>${app}</b>${rest.map((t) => `<span>${t}</span>`).join("")}<div class="right">${icon("battery")}${icon("wifi")}${icon("search")}${icon("sliders")}<span>Wed Apr 16&ensp;9:41 AM</span></div>`;
  },
  lights: () => '<span data-target="close"></span><span data-target="minimise"></span><span data-target="zoom"></span>',
  dock: (on) =>
    [
      ["files", "folder", "#3f8fd6"],
      ["web", "globe", "#2f9e8f"],
      ["mail", "mail", "#3b7de0"],
      ["calendar", "calendar", "#d64f45"],
      ["photos", "image", "#8a5bc7"],
      ["notes", "edit", "#d9a62e"],
      ["music", "music", "#d9497a"],
      ["settings", "gear", "#6b7480"],
      ["bin", "trash", "#8d99a6"],
    ]
      .map(([n, i, c]) => `<div class="center ${n === on ? "on" : ""}" style="background:${c}">${icon(i)}</div>`)
      .join(""),
  topbar: (app) =>
    `<span>${app ? "Activities&emsp;" + app : "Activities"}</span><span class="mid">Apr 16&ensp;11:20</span><span class="right">${icon("wifi")}${icon("volume")}${icon("battery")}${icon("power")}</span>`,
  ctl: windowButtons,
  iosstatus: (time) =>
    `<span>${time}</span><div class="island"></div><span class="right">${icon("signal")}${icon("wifi")}${icon("battery")}</span>`,
  androidstatus: (time) =>
    `<span>${time}</span><span class="right">${icon("wifi")}${icon("signal")}${icon("battery")}</span>`,
};

for (const el of document.querySelectorAll("[data-shell]")) {
  el.innerHTML = SHELLS[el.dataset.shell](el.dataset.arg);
}
for (const el of document.querySelectorAll("i[data-i]")) {
  if (!ICONS[el.dataset.i]) throw new Error(`no icon "${el.dataset.i}"`);
  const box = document.createElement("template");
  box.innerHTML = icon(el.dataset.i);
  const svg = box.content.firstChild;
  for (const { name, value } of el.attributes)
    if (name !== "data-i") svg.setAttribute(name, name === "class" ? `ic ${value}` : value);
  el.replaceWith(svg);
}
