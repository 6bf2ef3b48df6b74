import type { Command } from 'commander'

/** Printed after the list of commands in `geohook --help`. */
export const SHARED_HELP = `
Keys come from --key-file, --key-env, --key or the variable SIGNATURE_KEY, and are never printed.

Exit codes:
  0  success, or verified
  1  failure: an invalid signature, a receiver that refused, an error response of a service
  2  wrong usage: an unknown option, a missing key, a file that cannot be read
  3  unreachable: connection refused, no response in time
  4  trigger only: no webhook is subscribed
  5  trigger only: the subscribed webhooks are inactive

With --json the result is JSON on the standard output, and an error is
{"error": {"code", "message", "hint"}} on the standard error.`

/** Adds examples to a command's help. A test checks that every example can be parsed. */
export function addExamples(command: Command, examples: readonly string[]): Command {
  return command.addHelpText(
    'after',
    ['', 'Examples:', ...examples.map((line) => `  $ ${line}`), ''].join('\n'),
  )
}
