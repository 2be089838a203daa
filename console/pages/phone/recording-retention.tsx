import { Select } from "@mantine/core"
import type { Schema } from "../../api/api-client.ts"
import { useApiQuery } from "../../api/api-client.ts"
import { hasPermission, useMe } from "../../api/session.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"

type RetentionSettings = Schema<"KeepRecordingsRequest">

const FOR_EVER = "for ever"

/** A button: how long recordings are kept. */
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
      label="Keep recordings"
      title="How long recordings are kept"
      description="Each night what is older is deleted for good, and the minutes that are held are charged."
      initialValues={{ days: String(data.days ?? FOR_EVER) }}
      changeOf={({ days }) => ({
        method: "PUT",
        path: "/api/v1/phone/recordings/keep",
        body: { days: days === FOR_EVER ? null : Number(days) },
      })}
      fields={(form) => (
        <Select
          label="From the call on"
          allowDeselect={false}
          data={[
            { value: "30", label: "30 days" },
            { value: "90", label: "90 days" },
            { value: "365", label: "365 days" },
            { value: FOR_EVER, label: "Until somebody deletes them" },
          ]}
          {...form.getInputProps("days")}
        />
      )}
      submitLabel="Save"
      successMessage="It holds from tonight on."
    />
  )
}
