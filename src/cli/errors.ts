import { CommanderError } from 'commander'
import { WebhookError } from '../index.ts'

/**
 * Exit codes. Only `trigger` uses `noSubscription` and `inactive`, only `check` `undecided`, only `doctor` `sick`, only
 * `plan` `changes`, only `rotate` `pending`, and only `apply` and `rotate` `stopped`, which is what a shell returns for a
 * command that Ctrl-C has ended.
 */
export const EXIT = {
  success: 0,
  failure: 1,
  usage: 2,
  unreachable: 3,
  noSubscription: 4,
  inactive: 5,
  undecided: 4,
  sick: 4,
  changes: 4,
  pending: 4,
  stopped: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** An error that the user can act on: `message` describes the problem, `hint` how to solve it. */
export class CliError extends Error {
  readonly exitCode: ExitCode
  /** Error code that scripts can rely on. */
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

export const failure = (code: string, message: string, hint?: string): CliError =>
  new CliError(EXIT.failure, code, message, hint)

/** Creates an error with exit code 2 for invalid options, and for unreadable or invalid files. */
export const usageError = (message: string, hint?: string, code = 'usage'): CliError =>
  new CliError(EXIT.usage, code, message, hint)

/** Converts any thrown value to an error that can be printed without a stack trace. */
export function toCliError(thrown: unknown): CliError {
  if (thrown instanceof CliError) return thrown
  if (thrown instanceof CommanderError) return fromCommander(thrown)
  if (thrown instanceof WebhookError) {
    const exitCode = thrown.code === 'config_invalid' ? EXIT.usage : EXIT.failure
    return new CliError(exitCode, thrown.code, thrown.message, thrown.hint)
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return new CliError(EXIT.failure, 'internal', `unexpected error, please report it: ${message}`)
}

/** Commander errors whose messages contain no user input, only names from our own definitions. */
const SAFE_TO_QUOTE: ReadonlySet<string> = new Set([
  'commander.missingArgument',
  'commander.optionMissingArgument',
  'commander.missingMandatoryOptionValue',
  'commander.excessArguments',
  'commander.conflictingOption',
])

/** Converts an error from Commander. Removes quoted user input from its message, because it can be a misplaced key. */
function fromCommander({ code, message }: CommanderError): CliError {
  const text = message.replace(/^error: /, '')
  const [, suggestion] = /\((Did you mean [^()]*\?)\)$/.exec(text) ?? []
  return usageError(withoutUserInput(code, text), suggestion ?? 'Add --help to see the options.')
}

function withoutUserInput(code: string, text: string): string {
  if (SAFE_TO_QUOTE.has(code)) return text
  if (code === 'commander.unknownCommand') return 'unknown command'
  if (code === 'commander.help') return 'a command is missing'
  if (code === 'commander.unknownOption') return `unknown option ${unknownOptionIn(text)}`.trimEnd()
  // The text before the last " is invalid" may contain user input; the rest does not.
  const end = text.slice(text.lastIndexOf(' is invalid'))
  const [, argument, rule] = /^ is invalid(?: for argument '([^']*)')?\. (.*)$/s.exec(end) ?? []
  const name = argument ?? /^option '([^']*)'/.exec(text)?.[1]
  return name && rule ? `${name}: ${rule}` : 'wrong usage'
}

/** Returns the unknown option, or '' if it could contain a secret. For example, a key may be appended to `--key`. */
function unknownOptionIn(text: string): string {
  const [, short, long = ''] = /^unknown option '(?:(-[^-])|(--[a-z][a-z-]*)[='])/.exec(text) ?? []
  return short ?? (/^--(key|token|store|password|client-secret|health-token)/.test(long) ? '' : long)
}
