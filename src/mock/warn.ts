/** Tells of an error that nobody waits for, whatever it is: Node throws where it is given anything but an error or a text. */
export function warn(error: unknown): void {
  try {
    process.emitWarning(error instanceof Error ? error : String(error))
  } catch {
    process.emitWarning('something was thrown that has no text')
  }
}
