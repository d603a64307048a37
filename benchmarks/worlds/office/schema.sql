-- The store of one episode. Every table has one key, `id`, so that two dumps can be compared.
-- Nothing that reaches other people can be taken back without a trace: mail that is deleted for
-- good lies in the folder "Deleted", a deleted message keeps its row, a cancelled order its status;
-- what guests of events and readers of channels were shown is in the table "notices".
-- Dates are YYYY-MM-DD, times HH:MM, moments "YYYY-MM-DD HH:MM", money is in cents.
-- Lists of mail addresses are sorted and separated by ", ".

CREATE TABLE mail (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    folder TEXT NOT NULL CHECK (folder IN ('Inbox', 'Sent', 'Archive', 'Trash', 'Deleted')),
    sender TEXT NOT NULL,
    sender_addr TEXT NOT NULL,
    recipients TEXT NOT NULL,
    cc TEXT NOT NULL DEFAULT '',
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    sent_at TEXT NOT NULL CHECK (sent_at GLOB '[0-9]*-[0-9]*-[0-9]* [0-9]*:[0-9]*'),
    is_read INTEGER NOT NULL DEFAULT 0 CHECK (is_read IN (0, 1)),
    starred INTEGER NOT NULL DEFAULT 0 CHECK (starred IN (0, 1)),
    attachments TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(attachments))  -- [{"name", "text"}]
);

CREATE TABLE drafts (  -- no effect: not compared
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    recipients TEXT NOT NULL,
    cc TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    attachments TEXT NOT NULL DEFAULT '[]'  -- ids of files
);

CREATE TABLE contacts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL CHECK (name <> ''),
    email TEXT NOT NULL DEFAULT '',
    phone TEXT NOT NULL DEFAULT '',
    company TEXT NOT NULL DEFAULT '',
    note TEXT NOT NULL DEFAULT ''
);

CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL CHECK (title <> ''),
    date TEXT NOT NULL CHECK (date IS date(date, '+0 days')),
    start TEXT NOT NULL CHECK (start GLOB '[0-2][0-9]:[0-5][0-9]'),
    "end" TEXT NOT NULL CHECK ("end" GLOB '[0-2][0-9]:[0-5][0-9]' AND "end" > start),
    place TEXT NOT NULL DEFAULT '',
    guests TEXT NOT NULL DEFAULT '',
    note TEXT NOT NULL DEFAULT ''
);

CREATE TABLE files (  -- the root is the row 0
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    parent INTEGER REFERENCES files (id) CHECK (parent IS NOT NULL OR id = 0),
    name TEXT NOT NULL CHECK (name <> '' AND name NOT LIKE '%/%'),
    kind TEXT NOT NULL DEFAULT 'text' CHECK (kind IN ('folder', 'text')),
    content TEXT NOT NULL DEFAULT '',
    UNIQUE (parent, name)
);

CREATE TABLE products (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    category TEXT NOT NULL,
    price INTEGER NOT NULL CHECK (price > 0),
    rating REAL NOT NULL CHECK (rating BETWEEN 0 AND 5),
    stock INTEGER NOT NULL CHECK (stock >= 0),
    ship_days INTEGER NOT NULL CHECK (ship_days > 0),
    about TEXT NOT NULL
);

CREATE TABLE cart (  -- no effect: not compared; `id` is the product's
    id INTEGER PRIMARY KEY REFERENCES products (id),
    qty INTEGER NOT NULL CHECK (qty > 0)
);

CREATE TABLE addresses (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    label TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL
);

CREATE TABLE orders (  -- placing one leaves the stock of the products as it is
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    placed_at TEXT NOT NULL,
    status TEXT NOT NULL
        CHECK (status IN ('Placed', 'Processing', 'Shipped', 'Delivered', 'Cancelled')),
    address TEXT NOT NULL REFERENCES addresses (label),
    delivery TEXT NOT NULL DEFAULT 'Standard' CHECK (delivery IN ('Standard', 'Express')),
    note TEXT NOT NULL DEFAULT '',
    total INTEGER NOT NULL
);

CREATE TABLE order_items (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    order_id INTEGER NOT NULL REFERENCES orders (id),
    product TEXT NOT NULL REFERENCES products (name),
    qty INTEGER NOT NULL CHECK (qty > 0),
    price INTEGER NOT NULL  -- of one piece
);

CREATE TABLE channels (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,  -- "#general", or a person's name
    kind TEXT NOT NULL CHECK (kind IN ('channel', 'direct'))
);

CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    channel TEXT NOT NULL REFERENCES channels (name),
    author TEXT NOT NULL,
    text TEXT NOT NULL CHECK (text <> ''),
    sent_at TEXT NOT NULL,
    pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    edited INTEGER NOT NULL DEFAULT 0 CHECK (edited IN (0, 1)),
    deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1))
);

CREATE TABLE sheets (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE cells (  -- only those with content; A1 to J60
    id TEXT PRIMARY KEY CHECK (id = sheet || '!' || cell),  -- "Expenses!B4"
    sheet TEXT NOT NULL REFERENCES sheets (name),
    cell TEXT NOT NULL CHECK (cell GLOB '[A-J][1-9]*'),
    value TEXT NOT NULL CHECK (value <> '')
);

CREATE TABLE todos (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL CHECK (title <> ''),
    list TEXT NOT NULL DEFAULT 'Personal' CHECK (list IN ('Work', 'Personal')),
    due TEXT NOT NULL DEFAULT '' CHECK (due = '' OR due IS date(due, '+0 days')),
    done INTEGER NOT NULL DEFAULT 0 CHECK (done IN (0, 1)),
    priority TEXT NOT NULL DEFAULT 'Normal' CHECK (priority IN ('Low', 'Normal', 'High')),
    note TEXT NOT NULL DEFAULT ''
);

CREATE TABLE notices (  -- what others were told and what stays with them, whatever is done next
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('invited', 'uninvited', 'changed', 'pinned', 'unpinned')),
    event INTEGER,  -- its number, be it gone or not
    guest TEXT,  -- who was told about the event: a mail address in small letters
    message INTEGER  -- what was pinned for all to see
);
