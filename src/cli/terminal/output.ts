import pico from 'picocolors'
import type { CliError } from '../errors.ts'
import { printable, toPrintableJson } from './printable.ts'

type Colours = ReturnType<typeof pico.createColors>

/** Enables colours on a terminal unless `NO_COLOR` is set. `FORCE_COLOR` overrides everything else, as in Node. */
function coloursFor(stream: NodeJS.WriteStream): Colours {
  const { FORCE_COLOR, NO_COLOR, TERM } = process.env
  const isForced = FORCE_COLOR !== undefined && FORCE_COLOR !== '' && FORCE_COLOR !== '0'
  const isOff = (NO_COLOR !== undefined && NO_COLOR !== '') || FORCE_COLOR === '0' || TERM === 'dumb'
  return pico.createColors(isForced || (stream.isTTY === true && !isOff))
}

/** Colours for standard output. */
export const colours: Colours = coloursFor(process.stdout)

/** Prints one line to standard output. The caller must escape text from files or the network with `printable`. */
export function print(text = ''): void {
  process.stdout.write(`${text}\n`)
}

/** Prints a value as JSON. With `indent` 0, prints a single line, as for events. */
export function printJson(value: unknown, indent = 2): void {
  print(toPrintableJson(value, indent))
}

/** Prints one line to standard error, for example a warning. */
export function printNote(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Prints an error to standard error: the message and the hint on separate lines, or both as JSON. */
export function printError({ code, message, hint }: CliError, asJson: boolean): void {
  if (asJson) {
    printNote(toPrintableJson({ error: { code, message, hint } }))
    return
  }
  const { red, dim } = coloursFor(process.stderr)
  printNote(`${red('error:')} ${printable(message)}`)
  if (hint) printNote(dim(printable(hint)))
}

/** Returns for example `1 webhook` or `2 webhooks`. */
export const count = (number: number, noun: string, plural = `${noun}s`): string =>
  `${number} ${number === 1 ? noun : plural}`
