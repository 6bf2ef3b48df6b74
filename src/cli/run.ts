import { createRequire } from 'node:module'
import type { Command } from 'commander'
import { onStopSignal } from '../shared/stop-signal.ts'
import { createChangesCommand } from './changes/changes.ts'
import { createCheckCommand } from './check/check.ts'
import { createDemoCommand } from './demo/demo.ts'
import { EXIT, toCliError } from './errors.ts'
import { createInboxCommand } from './inbox/inbox.ts'
import { createMockCommand } from './mock/mock.ts'
import { CliCommand } from './options/command.ts'
import { createRegisteringListenCommand } from './register.ts'
import { createReplayCommand, createSendCommand } from './send/send.ts'
import { createApplyCommand, createPlanCommand, createPullCommand } from './service/as-code.ts'
import { createDoctorCommand } from './service/doctor.ts'
import { createCreateCommand, createEditCommand } from './service/edit.ts'
import { createEditFeaturesCommand } from './service/edit-features.ts'
import { createRotateCommand } from './service/rotate.ts'
import { createSettingsCommand } from './service/settings.ts'
import { createAdvanceCommand, createTriggerCommand } from './service/trigger.ts'
import {
  createActivateCommand,
  createDeactivateCommand,
  createDeleteCommand,
  createFailuresCommand,
  createListCommand,
} from './service/webhooks.ts'
import {
  createExplainCommand,
  createKeyCommand,
  createSignCommand,
  createVerifyCommand,
} from './signature/signature.ts'
import { type Host, Io } from './terminal/io.ts'

export { Io, onStopSignal }

const SHARED_HELP = `
Commands read the signature key from --key-file, --key-env, --key or the environment variable
SIGNATURE_KEY, and never print it.

Exit codes:
  0  success
  1  failure: an invalid signature, a refused delivery, an error from a service
  2  wrong usage: an unknown option, a missing key, an unreadable file
  3  unreachable: connection refused, or no response in time
  4  trigger: no subscription; check: undecided; doctor: sick; plan: changes; rotate: pending
  5  trigger only: the subscribed webhooks are inactive
  130  apply and rotate only: Ctrl-C has stopped it

With --json, the result is JSON on standard output, and an error is
{"error": {"code", "message", "hint"}} on standard error.`

/** Creates the program with all commands, in the order in which the help lists them. */
export function createProgram(io: Io): Command {
  const { stdout } = io.host
  const { version } = createRequire(import.meta.url)('geohook/package.json') as { version: string }
  const program = new CliCommand('geohook')
    .description(
      'Receives, sends, verifies and explains signed webhooks, and runs a mock service that sends them.',
    )
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .addHelpText('after', SHARED_HELP)
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      getOutHelpWidth: () => (stdout.isTTY ? stdout.columns : undefined) ?? 80,
      outputError() {}, // run() prints errors
      writeErr() {},
    })
    .hook('preAction', (_, command) => {
      io.json = command.opts().json === true
    })
    .exitOverride()
    .examples(
      'geohook demo',
      'geohook listen --key-file key.txt --save captures',
      'geohook explain captures --key-file key.txt',
    )
  const commands = [
    createDemoCommand(io),
    createRegisteringListenCommand(io),
    createSendCommand(io),
    createReplayCommand(io),
    createSignCommand(io),
    createVerifyCommand(io),
    createExplainCommand(io),
    createKeyCommand(io),
    createCheckCommand(io),
    createMockCommand(io),
    createListCommand(io),
    createCreateCommand(io),
    createEditCommand(io),
    createDeleteCommand(io),
    createActivateCommand(io),
    createDeactivateCommand(io),
    createPullCommand(io),
    createPlanCommand(io),
    createApplyCommand(io),
    createRotateCommand(io),
    createFailuresCommand(io),
    createSettingsCommand(io),
    createDoctorCommand(io),
    createTriggerCommand(io),
    createAdvanceCommand(io),
    createEditFeaturesCommand(io),
    createChangesCommand(io),
    createInboxCommand(io),
  ]
  for (const command of commands) {
    program.addCommand(command.copyInheritedSettings(program))
    for (const subcommand of command.commands) subcommand.copyInheritedSettings(program)
  }
  return program
}

/**
 * Runs one command line. Several can run at the same time, because they share no state and change none of the process.
 *
 * @param argv arguments without the program itself, for example `['sign', 'body.json']`
 * @returns the exit code
 */
export const runCli = (argv: readonly string[], host: Host): Promise<number> => run(argv, new Io(host))

/** Like {@link runCli}, with an object that the caller also needs for {@link fail}. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  io.json = argv.includes('--json') // also for errors in the arguments
  const program = createProgram(io)
  try {
    if (argv.length === 0) program.help()
    await program.parseAsync(argv, { from: 'user' })
    return io.exitCode
  } catch (thrown) {
    return isHelp(thrown) ? EXIT.success : fail(io, thrown)
  }
}

/** Prints an error without a stack trace. Returns its exit code. */
export function fail(io: Io, thrown: unknown): number {
  const error = toCliError(thrown)
  io.printError(error)
  return error.exitCode
}

/** Returns true for the error that Commander throws after it has printed the help or the version. */
function isHelp(thrown: unknown): boolean {
  const { code = '', exitCode } = thrown as { code?: string; exitCode?: number }
  return /^commander\.(help|helpDisplayed|version)$/.test(code) && exitCode === 0
}
