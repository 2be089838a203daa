import { Select } from "@mantine/core"
import type { Schema } from "../../api/company.ts"
import { useFound } from "../../api/company.ts"
import { holds, useMe } from "../../api/session.ts"
import { CallDialog } from "../../parts/call-dialog.tsx"

type Keep = Schema<"KeepRecordingsRequest">

const FOR_EVER = "for ever"

/** A button: how long recordings are kept. */
export function KeepDays() {
  const isManager = holds(useMe(), "Manage phone")
  const { data } = useFound<Keep>(
    ["readKeepRecordings"],
    (api) => api.GET("/api/v1/phone/recordings/keep"),
    isManager,
  )
  if (data === undefined) return null
  return (
    <CallDialog<{ readonly days: string }>
      label="Keep recordings"
      title="How long recordings are kept"
      says="Each night what is older is deleted for good, and the minutes that are held are charged."
      initial={{ days: String(data.days ?? FOR_EVER) }}
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
      does="Save"
      done="It holds from tonight on."
    />
  )
}
