import { describeCommands } from './secrecy.ts'

describeCommands([])
describeCommands(['--json'])
