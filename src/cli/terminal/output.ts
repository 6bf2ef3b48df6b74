import pico from 'picocolors'
import type { CliError } from '../errors.ts'
import { printable, toPrintableJson } from './printable.ts'

type Colours = ReturnType<typeof pico.createColors>

/** Colours on a terminal only. `NO_COLOR` disables them; `FORCE_COLOR` overrides everything else, as in Node. */
function coloursFor(stream: NodeJS.WriteStream): Colours {
  const { FORCE_COLOR, NO_COLOR, TERM } = process.env
  const isForced = FORCE_COLOR !== undefined && FORCE_COLOR !== '' && FORCE_COLOR !== '0'
  const isOff = (NO_COLOR !== undefined && NO_COLOR !== '') || FORCE_COLOR === '0' || TERM === 'dumb'
  return pico.createColors(isForced || (stream.isTTY === true && !isOff))
}

/** Colours for standard output. */
export const colours: Colours = coloursFor(process.stdout)

/** Prints one line of the result. Text from a file or the network must have gone through `printable`. */
export function print(text = ''): void {
  process.stdout.write(`${text}\n`)
}

/** Prints the result of a command as one JSON document, or one event as a line with `indent` 0. */
export function printJson(value: unknown, indent = 2): void {
  print(toPrintableJson(value, indent))
}

/** Prints a warning or a note to standard error, separate from the result. */
export function printNote(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Prints an error in one or two lines, or as JSON. */
export function printError({ code, message, hint }: CliError, asJson: boolean): void {
  if (asJson) {
    printNote(toPrintableJson({ error: { code, message, hint } }))
    return
  }
  const { red, dim } = coloursFor(process.stderr)
  printNote(`${red('error:')} ${printable(message)}`)
  if (hint) printNote(dim(printable(hint)))
}

/** `1 webhook`, `2 webhooks`. */
export const count = (number: number, noun: string, plural = `${noun}s`): string =>
  `${number} ${number === 1 ? noun : plural}`
