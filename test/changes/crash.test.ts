import { describeLosses } from './crash/losses.ts'

await describeLosses({ sqlite: 4, redis: 2, postgres: 2 })
