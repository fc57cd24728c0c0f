/** Mouse, touch, wheel and keys as few intentions. */

export interface Gestures {
  /** Pixels since the last call. */
  drag?(dx: number, dy: number): void;
  /** A factor over 1 comes nearer; (x, y) stays where it is. */
  zoom?(factor: number, x: number, y: number): void;
  click?(x: number, y: number): void;
  /** Undefined where the pointer left. */
  hover?(at: { x: number; y: number } | undefined): void;
  /** One finger came down, or moved. */
  touch?(at: { x: number; y: number }): void;
  /** Actions of keys, by the keys' names. */
  readonly keys?: Readonly<Record<string, () => void>>;
}

const CLICK_PX = 5;
const WHEEL_SPEED = 0.0016;
const LINE_PX = 24;

/** Place where a finger is, or was: in the window, for the element may move under it. */
interface Held {
  x: number;
  y: number;
  /** The window has another shape since: where the finger was says nothing now. */
  isLost: boolean;
}

/** Watches an element until the signal says that it is enough. */
export function watchGestures(element: HTMLElement, gestures: Gestures, signal: AbortSignal): void {
  const pointers = new Map<number, Held>();
  let travelled = 0;
  const at = ({ clientX, clientY }: Point): { x: number; y: number } => {
    const { left, top } = element.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  };

  const down = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    if (pointers.size === 0) travelled = 0;
    pointers.set(event.pointerId, held(event));
    element.setPointerCapture(event.pointerId);
    if (pointers.size > 1) travelled = Number.POSITIVE_INFINITY;
    else if (event.pointerType === "touch") gestures.touch?.(at(event));
  };
  const move = (event: PointerEvent): void => {
    const before = pointers.get(event.pointerId);
    if (event.pointerType !== "touch") gestures.hover?.(at(event));
    if (before === undefined) return;
    if (event.pointerType === "touch" && pointers.size === 1) gestures.touch?.(at(event));
    const now = held(event);
    pointers.set(event.pointerId, now);
    if (before.isLost) return;
    const [dx, dy] = [now.x - before.x, now.y - before.y];
    travelled += Math.hypot(dx, dy);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other === undefined) {
      if (travelled > CLICK_PX) gestures.drag?.(dx, dy);
      return;
    }
    const [farBefore, farNow] = [distance(before, other), distance(now, other)];
    if (other.isLost) return;
    gestures.drag?.(dx / 2, dy / 2);
    const { x, y } = at({ clientX: (now.x + other.x) / 2, clientY: (now.y + other.y) / 2 });
    if (farBefore > 8 && farNow > 8) gestures.zoom?.(farNow / farBefore, x, y);
  };
  const up = (event: PointerEvent): void => {
    const was = pointers.delete(event.pointerId);
    if (was && event.type === "pointerup" && travelled <= CLICK_PX && pointers.size === 0) {
      const { x, y } = at(event);
      gestures.click?.(x, y);
    }
  };
  const wheel = (event: WheelEvent): void => {
    if (gestures.zoom === undefined) return;
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1);
    // A pinch on a touchpad comes as a wheel with the control key, and in small pieces.
    const speed = event.ctrlKey ? WHEEL_SPEED * 5 : WHEEL_SPEED;
    const { x, y } = at(event);
    gestures.zoom(Math.exp(-pixels * speed), x, y);
  };
  // Where one finger may scroll the page, two would, too, before they are seen to go apart.
  const touch = (event: TouchEvent): void => {
    if (gestures.zoom !== undefined && event.touches.length > 1 && event.cancelable) event.preventDefault();
  };
  const key = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target !== element) return;
    const act = gestures.keys?.[event.key];
    if (act === undefined) return;
    act();
    event.preventDefault();
  };

  const reshaped = (): void => {
    for (const pointer of pointers.values()) pointer.isLost = true;
  };

  window.addEventListener("resize", reshaped, { signal });
  element.addEventListener("pointerdown", down, { signal });
  element.addEventListener("pointermove", move, { signal });
  element.addEventListener("pointerup", up, { signal });
  element.addEventListener("pointercancel", up, { signal });
  const leave = ({ pointerType }: PointerEvent): void => {
    if (pointerType !== "touch") gestures.hover?.(undefined);
  };
  element.addEventListener("pointerleave", leave, { signal });
  element.addEventListener("wheel", wheel, { signal, passive: false });
  element.addEventListener("touchstart", touch, { signal, passive: false });
  element.addEventListener("touchmove", touch, { signal, passive: false });
  element.addEventListener("keydown", key, { signal });
}

type Point = Pick<MouseEvent, "clientX" | "clientY">;

function held({ clientX, clientY }: Point): Held {
  return { x: clientX, y: clientY, isLost: false };
}

function distance(a: { x: number; y: number }, b: { x: number; y: number }): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
