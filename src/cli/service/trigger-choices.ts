import type { KnownChangeType } from '../../index.ts'
import type { FaultName } from '../../mock/index.ts'

// For the help, which must not load the mock service. Tests compare them with what the service knows.

/** What can go wrong with a delivery. */
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

/** What happens on a feature service. */
export const CHANGE_TYPES: readonly KnownChangeType[] = [
  'FeaturesCreated',
  'FeaturesUpdated',
  'FeaturesDeleted',
  'FeaturesEdited',
  'AttachmentsCreated',
  'AttachmentsUpdated',
  'AttachmentsDeleted',
  'LayerSchemaChanged',
  'LayerDefinitionChanged',
  'FeatureServiceDefinitionChanged',
  'PostPerformed',
]

/** How a job of a geoprocessing service ends. */
export const JOB_ENDS: readonly KnownChangeType[] = [
  'esriJobSucceeded',
  'esriJobFailed',
  'esriJobCancelled',
  'esriJobTimedOut',
]
