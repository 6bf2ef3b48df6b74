import type { Command } from 'commander'
import { failure } from '../errors.ts'
import { CliCommand } from '../options/command.ts'
import type { Io } from '../terminal/io.ts'

/** Creates the command `demo`, which `npm start` also runs. */
export function createDemoCommand(io: Io): Command {
  return new CliCommand('demo')
    .summary('show how deliveries are signed, verified and refused')
    .description(
      'Starts a mock service and a receiver, and shows the requests between them: a signed delivery, an edited ' +
        'webhook, forged deliveries, a deleted webhook. It listens on free ports of this machine, and exits by itself unless --open is given.',
    )
    .option('--open', 'keep the mock service and its inspector page running until Ctrl-C')
    .examples('geohook demo', 'geohook demo --open')
    .action(async ({ open = false }: { open?: boolean }) => {
      // Imported here, so that other commands do not load the mock service.
      const { playStory } = await import('./story.ts')
      try {
        await playStory(io, open)
      } catch (error) {
        throw failure('demo_failed', `the demo failed: ${(error as Error).message}`)
      }
    })
}
