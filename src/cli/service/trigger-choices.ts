import type { KnownChangeType } from '../../index.ts'
import type { FaultName } from '../../mock/index.ts'

// Copies for the help, which must not load the mock service. A test compares them with the originals.

/** Faults that the mock service can inject. */
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

/** Change types of a feature service. */
export const FEATURE_CHANGE_TYPES: readonly KnownChangeType[] = [
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

/** Change types of a geoprocessing service: the results of a job. */
export const JOB_CHANGE_TYPES: readonly KnownChangeType[] = [
  'esriJobSucceeded',
  'esriJobFailed',
  'esriJobCancelled',
  'esriJobTimedOut',
]
