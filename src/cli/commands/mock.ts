import { Command } from 'commander'
import { addExamples } from '../help.ts'

export function createMockCommand(): Command {
  const command = new Command('mock').summary('run a mock service')
  addExamples(command, ['geohook mock'])
  return command
}
