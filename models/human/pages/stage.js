// The image: zoom, pan, and which pixel of the file is where. A pixel is counted from 0; a pointer anywhere
// over it means this pixel, whatever the zoom, the scrolling or the density of the screen.

const SMALLEST = 0.05;
const LARGEST = 24;
const STEP = 1.25;
const STILL_PX = 5; // a pointer that moves less has not moved
const HOLD_MS = 650;

export class Stage {
  /** `onTap(pixel, event, wasHeld)`, `onDrag(from, to, event)`; a drag pans where `pans(event)` says so. */
  constructor({ onTap, onDrag, pans, onView }) {
    const { byId } = Elements;
    this.view = byId("stage");
    this.sheet = byId("sheet");
    this.image = byId("image");
    this.cross = byId("cross");
    this.start = byId("start");
    this.onTap = onTap;
    this.onDrag = onDrag;
    this.pans = pans;
    this.onView = onView;
    this.width = this.height = 1;
    this.zoom = 1;
    this.isFitted = true;
    this.point = null;
    this.startPoint = null;
    this.pointers = new Map();
    this.#listen();
  }

  /** Shows an image of so many pixels; resolves once it is on the screen. */
  async show(url, width, height, keepsView) {
    const image = new Image();
    image.src = url;
    await image.decode();
    const isSame = keepsView && width === this.width && height === this.height && !this.sheet.hidden;
    this.width = width;
    this.height = height;
    this.image.setAttribute("width", width);
    this.image.setAttribute("height", height);
    this.image.src = url;
    await this.image.decode();
    this.sheet.hidden = false;
    if (isSame) this.setZoom(this.zoom, null, this.isFitted);
    else this.fit();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  }

  hide() {
    this.sheet.hidden = true;
    this.setPoint(null);
    this.setStart(null);
  }

  fit() {
    const box = this.view.getBoundingClientRect(); // whole pixels: a part of one too many would need scroll bars
    const across = Math.floor(box.width) / this.width;
    const down = Math.floor(box.height) / this.height;
    this.setZoom(Math.min(across, down, 1), null, true);
  }

  /** Zooms so that what is at `at` (client coordinates; by default the middle, or the crosshair) stays there. */
  setZoom(zoom, at = null, isFitted = false) {
    const box = this.view.getBoundingClientRect();
    const anchor = at ?? this.#anchor(box);
    const before = this.sheet.getBoundingClientRect();
    const across = (anchor.x - before.left) / this.zoom;
    const down = (anchor.y - before.top) / this.zoom;
    this.zoom = Math.min(Math.max(zoom, SMALLEST), LARGEST);
    this.isFitted = isFitted;
    this.sheet.style.width = `${this.width * this.zoom}px`;
    this.sheet.style.height = `${this.height * this.zoom}px`;
    this.sheet.classList.toggle("pixels", this.zoom >= 3);
    const after = this.sheet.getBoundingClientRect();
    this.view.scrollLeft += after.left + across * this.zoom - anchor.x;
    this.view.scrollTop += after.top + down * this.zoom - anchor.y;
    const isScrolled = this.view.scrollWidth > this.view.clientWidth || this.view.scrollHeight > this.view.clientHeight;
    this.view.style.touchAction = isScrolled ? "none" : "pan-y"; // where all is seen, a finger moves the page
    this.#draw();
    this.onView();
  }

  zoomIn(at) {
    this.setZoom(this.zoom * STEP, at);
  }

  zoomOut(at) {
    this.setZoom(this.zoom / STEP, at);
  }

  /** The pixel under a place of the window; null outside the image. */
  pixelAt(clientX, clientY) {
    const box = this.sheet.getBoundingClientRect();
    const x = Math.floor(((clientX - box.left) / box.width) * this.width);
    const y = Math.floor(((clientY - box.top) / box.height) * this.height);
    return x >= 0 && y >= 0 && x < this.width && y < this.height ? { x, y } : null;
  }

  setPoint(point) {
    this.point = point;
    this.#draw();
    this.onView();
  }

  setStart(point) {
    this.startPoint = point;
    this.#draw();
  }

  /** Moves the crosshair by so many pixels; the first time it appears in the middle of what is seen. */
  movePoint(across, down) {
    const box = this.view.getBoundingClientRect();
    const middle = { x: box.left + this.view.clientWidth / 2, y: box.top + this.view.clientHeight / 2 };
    const from = this.point ?? this.pixelAt(middle.x, middle.y) ?? { x: this.width >> 1, y: this.height >> 1 };
    const isNew = this.point === null;
    const clamp = (value, size) => Math.min(Math.max(value, 0), size - 1);
    this.setPoint({
      x: clamp(from.x + (isNew ? 0 : across), this.width),
      y: clamp(from.y + (isNew ? 0 : down), this.height),
    });
    this.#bringIntoView(this.point);
  }

  #anchor(box) {
    if (this.point) {
      const sheet = this.sheet.getBoundingClientRect();
      const x = sheet.left + (this.point.x + 0.5) * this.zoom;
      const y = sheet.top + (this.point.y + 0.5) * this.zoom;
      if (x >= box.left && x <= box.right && y >= box.top && y <= box.bottom) return { x, y };
    }
    return { x: box.left + this.view.clientWidth / 2, y: box.top + this.view.clientHeight / 2 };
  }

  #bringIntoView(point) {
    const margin = 40;
    const left = this.sheet.offsetLeft + point.x * this.zoom;
    const top = this.sheet.offsetTop + point.y * this.zoom;
    const view = this.view;
    if (left < view.scrollLeft + margin) view.scrollLeft = left - margin;
    else if (left + this.zoom > view.scrollLeft + view.clientWidth - margin)
      view.scrollLeft = left + this.zoom + margin - view.clientWidth;
    if (top < view.scrollTop + margin) view.scrollTop = top - margin;
    else if (top + this.zoom > view.scrollTop + view.clientHeight - margin)
      view.scrollTop = top + this.zoom + margin - view.clientHeight;
  }

  #draw() {
    for (const [mark, point] of [
      [this.cross, this.point],
      [this.start, this.startPoint],
    ]) {
      mark.hidden = point === null;
      if (!point) continue;
      mark.style.left = `${point.x * this.zoom}px`;
      mark.style.top = `${point.y * this.zoom}px`;
      mark.style.width = mark.style.height = `${this.zoom}px`;
    }
  }

  #listen() {
    const { sheet, view } = this;
    sheet.addEventListener("pointerdown", (event) => this.#down(event));
    sheet.addEventListener("pointermove", (event) => this.#move(event));
    sheet.addEventListener("pointerup", (event) => this.#up(event));
    sheet.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    sheet.addEventListener("contextmenu", (event) => event.preventDefault());
    sheet.addEventListener("dragstart", (event) => event.preventDefault());
    new ResizeObserver(() => {
      if (this.isFitted && !sheet.hidden) this.fit();
    }).observe(view);
  }

  #down(event) {
    this.view.focus({ preventScroll: true });
    if (event.pointerType === "mouse") event.preventDefault(); // no selection, no scrolling by the middle button
    this.sheet.setPointerCapture(event.pointerId);
    const pixel = this.pixelAt(event.clientX, event.clientY);
    const at = { x: event.clientX, y: event.clientY };
    this.pointers.set(event.pointerId, { from: at, at, pixel, since: event.timeStamp, hasMoved: false });
    if (this.pointers.size > 1) for (const pointer of this.pointers.values()) pointer.hasMoved = true;
  }

  #move(event) {
    const pointer = this.pointers.get(event.pointerId);
    if (!pointer) return;
    const at = { x: event.clientX, y: event.clientY };
    if (Math.hypot(at.x - pointer.from.x, at.y - pointer.from.y) >= STILL_PX) pointer.hasMoved = true;
    if (!pointer.hasMoved) return;
    if (this.pointers.size === 2) {
      this.#pinch(pointer, at);
    } else if (this.pans(event)) {
      this.view.scrollLeft -= at.x - pointer.at.x;
      this.view.scrollTop -= at.y - pointer.at.y;
    }
    pointer.at = at;
  }

  #pinch(pointer, at) {
    const [other] = [...this.pointers.values()].filter((one) => one !== pointer);
    const before = Math.hypot(pointer.at.x - other.at.x, pointer.at.y - other.at.y);
    const now = Math.hypot(at.x - other.at.x, at.y - other.at.y);
    const middle = { x: (at.x + other.at.x) / 2, y: (at.y + other.at.y) / 2 };
    if (before > 0) this.setZoom((this.zoom * now) / before, middle);
  }

  #up(event) {
    const pointer = this.pointers.get(event.pointerId);
    this.pointers.delete(event.pointerId);
    if (!pointer?.pixel) return;
    if (!pointer.hasMoved) {
      this.onTap(pointer.pixel, event, event.timeStamp - pointer.since >= HOLD_MS);
    } else if (this.pointers.size === 0 && !this.pans(event)) {
      const to = this.pixelAt(event.clientX, event.clientY);
      if (to) this.onDrag(pointer.pixel, to, event);
    }
  }
}
