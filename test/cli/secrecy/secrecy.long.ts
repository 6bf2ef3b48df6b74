import { describeCommands } from './commands.ts'

describeCommands([])
describeCommands(['--json'])
