import type { FaultName } from '../../mock/index.ts'

/** The mock service's faults. This is a copy, so that the help does not load the service; a test compares both lists. */
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
