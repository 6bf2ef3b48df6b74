import { printable } from '../receiver/log.ts'

/** Tells of an error that nobody waits for, whatever it is: Node throws where it is given anything but an error or a text. */
export function warn(error: unknown): void {
  try {
    const text = printable(String(error))
    // Its message may quote what somebody sent. Only an error that is safe to print is passed on with its stack.
    process.emitWarning(error instanceof Error && text === String(error) ? error : text)
  } catch {
    process.emitWarning('something was thrown that has no text')
  }
}
