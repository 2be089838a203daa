import { Select } from "@mantine/core"
import type { Schema } from "../../api/api-client.ts"
import { useApiQuery } from "../../api/api-client.ts"
import { hasPermission, useMe } from "../../api/session.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"

type RetentionSettings = Schema<"KeepRecordingsRequest">

const FOR_EVER = "forever"

/** A button that sets the retention of recordings. */
export function RecordingRetention() {
  const isManager = hasPermission(useMe(), "Manage phone")
  const { data } = useApiQuery<RetentionSettings>(
    ["readKeepRecordings"],
    (api) => api.GET("/api/v1/phone/recordings/keep"),
    isManager,
  )
  if (data === undefined) return null
  return (
    <ApiCallButton<{ readonly days: string }>
      label="Retention"
      title="Retention of recordings"
      description="Each night older recordings are deleted for good, and stored minutes are charged."
      initialValues={{ days: String(data.days ?? FOR_EVER) }}
      changeOf={({ days }) => ({
        method: "PUT",
        path: "/api/v1/phone/recordings/keep",
        body: { days: days === FOR_EVER ? null : Number(days) },
      })}
      fields={(form) => (
        <Select
          label="Keep for"
          allowDeselect={false}
          data={[
            { value: "30", label: "30 days" },
            { value: "90", label: "90 days" },
            { value: "365", label: "365 days" },
            { value: FOR_EVER, label: "Until deleted" },
          ]}
          {...form.getInputProps("days")}
        />
      )}
      submitLabel="Save"
      successMessage="Applies from tonight."
    />
  )
}
