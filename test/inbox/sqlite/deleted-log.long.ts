// @module-tag sqlite

import { describeDeletedLog } from './deleted-log.ts'

describeDeletedLog({ processes: 1, deletions: 40 })
describeDeletedLog({ processes: 3, deletions: 40 })
