import type { FaultName } from '../../mock/index.ts'

/** Faults that the mock service can inject: a copy for the help, which must not load the service. A test compares both. */
export const FAULT_NAMES: readonly FaultName[] = [
  'wrong_key',
  'altered',
  'unsigned',
  'truncated',
  'wrong_content_type',
  'gzip',
  'duplicate',
  'two_at_once',
  'reordered',
  'delayed',
  'slow_drip',
  'connection_dropped',
  'wrong_length',
  'answer_lost',
]
