import { createRequire } from 'node:module'
import { Command } from 'commander'
import { createChangesCommand } from './changes/changes.ts'
import { createCheckCommand } from './check/check.ts'
import { createDemoCommand } from './demo/demo.ts'
import { EXIT, toCliError } from './errors.ts'
import { createInboxCommand } from './inbox/inbox.ts'
import { createListenCommand } from './listen/listen.ts'
import { createMockCommand } from './mock/mock.ts'
import { createReplayCommand } from './send/replay.ts'
import { createSendCommand } from './send/send.ts'
import { createCreateCommand } from './service/create.ts'
import { createDeleteCommand } from './service/delete.ts'
import { createEditCommand } from './service/edit.ts'
import { createEditFeaturesCommand } from './service/edit-features.ts'
import { createListCommand } from './service/list.ts'
import { createTriggerCommand } from './service/trigger.ts'
import { createExplainCommand } from './signature/explain.ts'
import { createKeyCommand } from './signature/key.ts'
import { createSignCommand } from './signature/sign.ts'
import { createVerifyCommand } from './signature/verify.ts'
import { addExamples, SHARED_HELP } from './terminal/help.ts'
import { printError } from './terminal/output.ts'
import { forgetSecrets } from './terminal/secrets.ts'

/** Creates the program with all commands, in the order in which the help lists them. */
export function createProgram(): Command {
  const { version } = createRequire(import.meta.url)('geohook/package.json') as { version: string }
  const program = new Command('geohook')
    .description(
      'Receives, sends, verifies and explains signed webhooks, and runs a mock service that sends them.',
    )
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .addHelpText('after', SHARED_HELP)
    .configureOutput({ outputError() {}, writeErr() {} }) // run() prints errors
    .exitOverride()
  addExamples(program, [
    'geohook demo',
    'geohook listen --key-file key.txt --save captures',
    'geohook explain captures --key-file key.txt',
  ])
  const commands = [
    createDemoCommand(),
    createListenCommand(),
    createSendCommand(),
    createReplayCommand(),
    createSignCommand(),
    createVerifyCommand(),
    createExplainCommand(),
    createKeyCommand(),
    createCheckCommand(),
    createMockCommand(),
    createListCommand(),
    createCreateCommand(),
    createEditCommand(),
    createDeleteCommand(),
    createTriggerCommand(),
    createEditFeaturesCommand(),
    createChangesCommand(),
    createInboxCommand(),
  ]
  for (const command of commands) {
    program.addCommand(command.copyInheritedSettings(program))
    for (const subcommand of command.commands) subcommand.copyInheritedSettings(program)
  }
  return program
}

/** Runs one command line and returns its exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  forgetSecrets()
  const program = createProgram()
  try {
    if (argv.length <= 2) program.help()
    await program.parseAsync(argv)
    return Number(process.exitCode ?? EXIT.success)
  } catch (thrown) {
    if (isHelp(thrown)) return EXIT.success
    const error = toCliError(thrown)
    printError(error, argv.includes('--json'))
    return error.exitCode
  }
}

/** Last resort for bugs: prints the message without a stack trace and exits. */
export function exitOnUnexpectedError(thrown: unknown): never {
  const error = toCliError(thrown)
  printError(error, process.argv.includes('--json'))
  process.exit(error.exitCode)
}

/** Returns true for the error that Commander throws after it has printed the help or the version. */
function isHelp(thrown: unknown): boolean {
  const { code = '', exitCode } = thrown as { code?: string; exitCode?: number }
  return /^commander\.(help|helpDisplayed|version)$/.test(code) && exitCode === 0
}
