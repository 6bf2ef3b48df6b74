import { Command } from 'commander'
import { CliError, EXIT } from '../errors.ts'
import { addExamples } from '../terminal/help.ts'
import type { Io } from '../terminal/io.ts'

/** Creates the command `demo`, which `npm start` also runs. */
export function createDemoCommand(io: Io): Command {
  const command = new Command('demo')
    .summary('show how deliveries are signed, verified and refused')
    .description(
      'Starts a mock service and a receiver, and shows the requests between them: a signed delivery, an edited ' +
        'webhook, forged deliveries, a deleted webhook. It listens on free ports of this machine, and exits by itself unless --open is given.',
    )
  command.option('--open', 'keep the mock service and its inspector page running until Ctrl-C')
  addExamples(command, ['geohook demo', 'geohook demo --open'])
  return command.action(async ({ open = false }: { open?: boolean }) => {
    // Imported here, so that other commands do not load Express and the mock service.
    const { playStory } = await import('./story.ts')
    try {
      await playStory(io, open)
    } catch (error) {
      throw new CliError(EXIT.failure, 'demo_failed', `the demo failed: ${(error as Error).message}`)
    }
  })
}
