import type { Job, JobJson, Worker } from 'bullmq'
import type { Envelope } from '../stored.ts'

/** A worker that also takes jobs whose data is no JSON: BullMQ's would throw, and leave them active for ever. */
export function toTolerant(Base: typeof Worker<Envelope>): typeof Worker<Envelope> {
  return class extends Base {
    protected override createJob(json: JobJson, jobId: string): Job<Envelope> {
      try {
        return super.createJob(json, jobId)
      } catch {
        return super.createJob({ ...json, data: 'null' }, jobId)
      }
    }
  }
}
