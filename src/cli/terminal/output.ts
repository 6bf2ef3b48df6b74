import pico from 'picocolors'
import { type CliError, EXIT } from '../errors.ts'
import { printable, toPrintableJson } from './printable.ts'

type Paint = ReturnType<typeof pico.createColors>

/** Colours on a terminal only. `NO_COLOR` switches them off there; `FORCE_COLOR` wins over all else, as in Node. */
function colours(stream: NodeJS.WriteStream): Paint {
  const { FORCE_COLOR, NO_COLOR, TERM } = process.env
  const isForced = FORCE_COLOR !== undefined && FORCE_COLOR !== '' && FORCE_COLOR !== '0'
  const isOff = (NO_COLOR !== undefined && NO_COLOR !== '') || FORCE_COLOR === '0' || TERM === 'dumb'
  return pico.createColors(isForced || (stream.isTTY === true && !isOff))
}

/** Colours for the standard output. */
export const paint: Paint = colours(process.stdout)

/** One line of the result. What comes from outside must have gone through `printable`. */
export function print(text = ''): void {
  process.stdout.write(`${text}\n`)
}

/** The result of a command as one document; for events, one line each with `indent` 0. */
export function printJson(value: unknown, indent = 2): void {
  print(toPrintableJson(value, indent))
}

/** What is not the result: warnings and notes. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Tells an error in one or two lines, or as JSON. */
export function printError({ code, message, hint, exitCode }: CliError, asJson: boolean): void {
  if (asJson) {
    note(toPrintableJson({ error: { code, message, hint } }))
    return
  }
  const { red, dim } = colours(process.stderr)
  const mark = exitCode === EXIT.no ? 'no' : 'error'
  note(`${red(`${mark}:`)} ${printable(message)}`)
  if (hint) note(dim(printable(hint)))
}

/** `1 webhook`, `2 webhooks`. */
export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`
