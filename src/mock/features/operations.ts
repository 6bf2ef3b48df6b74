import { ATTACHMENT_OPERATIONS } from './attachment-operations.ts'
import { EDIT_OPERATIONS } from './edit-operations.ts'
import type { FeatureOperation } from './operation.ts'
import { QUERY_OPERATIONS } from './query-operations.ts'
import { SERVICE_OPERATIONS } from './service-operations.ts'

/** All operations of feature services. The router and the OpenAPI document are generated from this table. */
export const FEATURE_OPERATIONS: readonly FeatureOperation[] = [
  ...SERVICE_OPERATIONS,
  ...EDIT_OPERATIONS,
  ...QUERY_OPERATIONS,
  ...ATTACHMENT_OPERATIONS,
]
