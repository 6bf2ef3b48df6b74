import type { Command } from 'commander'

/** Printed after the list of commands in `geohook --help`. */
export const SHARED_HELP = `
Commands read the signature key from --key-file, --key-env, --key or the environment variable
SIGNATURE_KEY, and never print it.

Exit codes:
  0  success
  1  failure: an invalid signature, a refused delivery, an error from a service
  2  wrong usage: an unknown option, a missing key, an unreadable file
  3  unreachable: connection refused, or no response in time
  4  trigger: no webhook is subscribed; check: no must failed, but at least one is undecided
  5  trigger only: the subscribed webhooks are inactive

With --json, the result is JSON on standard output, and an error is
{"error": {"code", "message", "hint"}} on standard error.`

/** Adds examples to a command's help. A test checks that every example can be parsed. */
export function addExamples(command: Command, examples: readonly string[]): Command {
  return command.addHelpText(
    'after',
    ['', 'Examples:', ...examples.map((line) => `  $ ${line}`), ''].join('\n'),
  )
}
