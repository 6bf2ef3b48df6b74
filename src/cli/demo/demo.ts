import { Command } from 'commander'
import { CliError, EXIT } from '../errors.ts'
import { addExamples } from '../terminal/help.ts'

/** Creates the command `demo`, which `npm start` also runs. */
export function createDemoCommand(): Command {
  const command = new Command('demo')
    .summary("watch one delivery's story")
    .description(
      'Starts a mock service and a receiver, and shows what passes between them: signed, verified, edited, ' +
        'forged, refused, deleted. It needs no options, uses free ports of this machine, and ends by itself.',
    )
  addExamples(command, ['geohook demo'])
  return command.action(async () => {
    // Imported here, so that other commands do not load Express and the mock service.
    const { playStory } = await import('./story.ts')
    try {
      await playStory()
    } catch (error) {
      throw new CliError(EXIT.failure, 'demo_failed', `the demo failed: ${(error as Error).message}`)
    }
  })
}
