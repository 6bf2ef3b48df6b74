import { describeHistories } from './histories.ts'

describeHistories(200, 120_000)
