/** Mouse, touch, wheel and keys as few intentions. */

export interface Gestures {
  /** Pixels since the last call. */
  drag?(dx: number, dy: number): void;
  /** A factor over 1 comes nearer; (x, y) stays where it is. */
  zoom?(factor: number, x: number, y: number): void;
  click?(x: number, y: number): void;
  /** Undefined where the pointer left. */
  hover?(at: { x: number; y: number } | undefined): void;
  /** True where the key meant something. */
  key?(key: string, isShift: boolean): boolean;
}

const CLICK_PX = 5;
const WHEEL_SPEED = 0.0016;
const LINE_PX = 24;

/** Watches an element until the signal says that it is enough. */
export function watchGestures(element: HTMLElement, gestures: Gestures, signal: AbortSignal): void {
  const pointers = new Map<number, { x: number; y: number }>();
  let travelled = 0;
  const at = (event: MouseEvent): { x: number; y: number } => {
    const { left, top } = element.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };

  const down = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    if (pointers.size === 0) travelled = 0;
    pointers.set(event.pointerId, at(event));
    element.setPointerCapture(event.pointerId);
    if (pointers.size > 1) travelled = Number.POSITIVE_INFINITY;
  };
  const move = (event: PointerEvent): void => {
    const now = at(event);
    const before = pointers.get(event.pointerId);
    if (event.pointerType !== "touch" || before !== undefined) gestures.hover?.(now);
    if (before === undefined) return;
    pointers.set(event.pointerId, now);
    const [dx, dy] = [now.x - before.x, now.y - before.y];
    travelled += Math.hypot(dx, dy);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other === undefined) {
      if (travelled > CLICK_PX) gestures.drag?.(dx, dy);
      return;
    }
    const [farBefore, farNow] = [distance(before, other), distance(now, other)];
    const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
    gestures.drag?.(dx / 2, dy / 2);
    if (farBefore > 8 && farNow > 8) gestures.zoom?.(farNow / farBefore, middle.x, middle.y);
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
  const key = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target !== element) return;
    if (gestures.key?.(event.key, event.shiftKey)) event.preventDefault();
  };

  element.addEventListener("pointerdown", down, { signal });
  element.addEventListener("pointermove", move, { signal });
  element.addEventListener("pointerup", up, { signal });
  element.addEventListener("pointercancel", up, { signal });
  element.addEventListener("pointerleave", () => gestures.hover?.(undefined), { signal });
  element.addEventListener("wheel", wheel, { signal, passive: false });
  element.addEventListener("keydown", key, { signal });
}

function distance(a: { x: number; y: number }, b: { x: number; y: number }): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
