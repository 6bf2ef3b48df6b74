import { describeLosses } from './crash/losses.ts'

await describeLosses({ sqlite: 20, postgres: 8 })
