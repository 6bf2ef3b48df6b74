import { describeLosses } from './crash/losses.ts'

// crash.long.ts tests all stores.
await describeLosses({ sqlite: 4 })
