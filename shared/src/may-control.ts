/**
 * Whether a modulator with this text can call controls: it names them in its text (`static needs`). A producer offers none to one whose text does not have the
 * word, so that a gateway knows without running it.
 */
export function mayControl(source: string): boolean {
  return source.includes("controls");
}
