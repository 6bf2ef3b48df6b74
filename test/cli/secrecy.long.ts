import { describeCommands } from './secrecy.ts'

describeCommands(['--json'])
