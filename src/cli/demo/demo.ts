import { Command } from 'commander'
import { CliError, EXIT } from '../errors.ts'
import { addExamples } from '../terminal/help.ts'

/** `geohook demo`, which `npm start` runs too. */
export function createDemoCommand(): Command {
  const command = new Command('demo')
    .summary("watch one delivery's story")
    .description(
      'Starts a mock service and a receiver, and shows what passes between them: signed, verified, edited, ' +
        'forged, refused, deleted. It needs no options, uses free ports of this machine, and ends by itself.',
    )
  addExamples(command, ['geohook demo'])
  return command.action(async () => {
    // Express and the mock service load only for this command.
    const { playStory } = await import('./story.ts')
    try {
      await playStory()
    } catch (error) {
      throw new CliError(EXIT.failure, 'demo_failed', `the demo failed: ${(error as Error).message}`)
    }
  })
}
