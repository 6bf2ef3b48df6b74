import pico from 'picocolors'
import type { CliError } from '../errors.ts'
import { printable, toPrintableJson } from './printable.ts'
import { hide } from './secrets.ts'

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

/**
 * Prints text to standard output, and hides secrets in it. The caller must escape text from files or the network with
 * `printable`.
 */
export function print(text = ''): void {
  process.stdout.write(`${hideInLines(text)}\n`)
}

/** Prints a value as JSON. With `indent` 0, prints a single line, as for events. */
export function printJson(value: unknown, indent = 2): void {
  printSafe(toPrintableJson(value, indent))
}

/** Prints text without hiding secrets in it: for text in which they are hidden already, as by `toPrintableJson`. */
export function printSafe(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Prints text to standard error, for example a warning, and hides secrets in it. */
export function printNote(text: string): void {
  process.stderr.write(`${hideInLines(text)}\n`)
}

/** Hides secrets line by line, because a table can be too large to decode as a whole. */
const hideInLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => hide(line))
    .join('\n')

/** Prints an error to standard error: the message and the hint on separate lines, or both as JSON. */
export function printError({ code, message, hint }: CliError, asJson: boolean): void {
  if (asJson) {
    process.stderr.write(`${toPrintableJson({ error: { code, message, hint } })}\n`)
    return
  }
  const { red, dim } = coloursFor(process.stderr)
  printNote(`${red('error:')} ${printable(message)}`)
  if (hint) printNote(dim(printable(hint)))
}

/** Returns for example `1 webhook` or `2 webhooks`. */
export const count = (number: number, noun: string, plural = `${noun}s`): string =>
  `${number} ${number === 1 ? noun : plural}`
