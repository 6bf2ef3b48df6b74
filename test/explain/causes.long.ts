import { OTHER_ROWS } from './rows/all.ts'
import { describeRows } from './table.ts'

describeRows('explain, other requests', OTHER_ROWS)
