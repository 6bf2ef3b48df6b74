import { Command } from 'commander'
import { CliError, EXIT } from '../errors.ts'
import { addExamples } from '../terminal/help.ts'

/** `geohook demo`: one delivery's story, which `npm start` tells too. */
export function createDemoCommand(): Command {
  const command = new Command('demo')
    .summary("watch one delivery's story")
    .description(
      'Starts a mock service and a receiver, and tells what happens between them: signed, verified, edited, ' +
        'forged, refused, deleted. It needs no options, uses free ports of this machine, and ends by itself.',
    )
  addExamples(command, ['geohook demo'])
  return command.action(async () => {
    const { demo } = await import('./story.ts')
    try {
      await demo()
    } catch (error) {
      throw new CliError(EXIT.no, 'demo_failed', `The story broke off: ${(error as Error).message}`)
    }
  })
}
