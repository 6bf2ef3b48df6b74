import { CommanderError } from 'commander'
import { WebhookError } from '../index.ts'

/** Exit codes, the same for every command. The help and docs/cli.md tell them too. */
export const EXIT = { done: 0, no: 1, usage: 2, unreachable: 3 } as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** An error that a user can do something about: what happened, and what to do. */
export class CliError extends Error {
  readonly exitCode: ExitCode
  /** For scripts. */
  readonly code: string
  readonly hint: string

  constructor(exitCode: ExitCode, code: string, message: string, hint = '') {
    super(message)
    this.name = 'CliError'
    this.exitCode = exitCode
    this.code = code
    this.hint = hint
  }
}

/** Wrong options, or a file that cannot be read or does not hold what it should. */
export const usageError = (message: string, hint?: string, code = 'usage'): CliError =>
  new CliError(EXIT.usage, code, message, hint)

/** Whatever was thrown, as an error that can be told: never a stack trace. */
export function toCliError(thrown: unknown): CliError {
  if (thrown instanceof CliError) return thrown
  if (thrown instanceof CommanderError) return fromCommander(thrown)
  if (thrown instanceof WebhookError) {
    const exitCode = thrown.code === 'config_invalid' ? EXIT.usage : EXIT.no
    return new CliError(exitCode, thrown.code, thrown.message, thrown.hint)
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return new CliError(EXIT.no, 'internal', `this should not happen: ${message}`)
}

/** Commander's messages that quote names of its own only. */
const HARMLESS: ReadonlySet<string> = new Set([
  'commander.missingArgument',
  'commander.optionMissingArgument',
  'commander.missingMandatoryOptionValue',
  'commander.excessArguments',
  'commander.conflictingOption',
])

/** Most of Commander's messages quote what was typed, which can be a key: it is left out. */
function fromCommander({ code, message }: CommanderError): CliError {
  const text = message.replace(/^error: /, '')
  const [, suggestion] = /\((Did you mean [^()]*\?)\)$/.exec(text) ?? []
  return usageError(toHarmless(code, text), suggestion ?? 'Add --help to see what it takes.')
}

function toHarmless(code: string, text: string): string {
  if (HARMLESS.has(code)) return text
  if (code === 'commander.unknownCommand') return 'unknown command'
  if (code === 'commander.help') return 'a command is missing'
  if (code === 'commander.unknownOption') return `unknown option ${unknownOf(text)}`.trimEnd()
  // What was typed stands before this.
  const end = text.slice(text.lastIndexOf(' is invalid'))
  const [, argument, rule] = /^ is invalid(?: for argument '([^']*)')?\. (.*)$/s.exec(end) ?? []
  const name = argument ?? /^option '([^']*)'/.exec(text)?.[1]
  return name && rule ? `${name}: ${rule}` : 'wrong usage'
}

/** The option that is not known, if it is a plain word, and not the name of a secret with the secret at its end. */
function unknownOf(text: string): string {
  const [, short, long = ''] = /^unknown option '(?:(-[^-])|(--[a-z][a-z-]*)[='])/.exec(text) ?? []
  return short ?? (/^--(key|token|store)/.test(long) ? '' : long)
}
