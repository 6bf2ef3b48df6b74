import { describeProperties } from './explain-properties.ts'

describeProperties(400)
