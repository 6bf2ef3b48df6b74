// @module-tag sqlite

import { describeLosingParts } from './deleted-log.ts'

describeLosingParts({ processes: 1, losses: 40 })
describeLosingParts({ processes: 3, losses: 40 })
