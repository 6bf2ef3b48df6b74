import { describeLosses } from './crash/losses.ts'

await describeLosses({ sqlite: 20, redis: 8, postgres: 8 })
