import { ANSWER_CASES } from './answer-cases.ts'
import type { Case } from './case.ts'
import { FAULT_CASES } from './fault-cases.ts'
import { TIME_CASES } from './time-cases.ts'
import { URL_CASES } from './url-cases.ts'

/** The contract of geohook/changes in every runtime. */
export const CASES: readonly Case[] = [...FAULT_CASES, ...URL_CASES, ...ANSWER_CASES, ...TIME_CASES]
