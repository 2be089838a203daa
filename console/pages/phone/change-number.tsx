import { Checkbox, NumberInput, Select, SimpleGrid, TextInput, Textarea } from "@mantine/core"
import type { UseFormReturnType } from "@mantine/form"
import type { Schema } from "../../api/api-client.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"

type Settings = Schema<"NumberSettings">

type Values = {
  readonly label: string
  readonly ringMode: string
  /** One phone per line, followed by its person. */
  readonly ringTo: string
  readonly ringSeconds: number | string
  readonly screenCalls: boolean
  readonly recordCalls: boolean
  readonly recordingNotice: string
  readonly acknowledgeRecording: boolean
  readonly voicemail: boolean
  readonly voicemailGreeting: string
}

function valuesOf(settings: Settings): Values {
  const { ringTo, label, voicemailGreeting, ringMode, ringSeconds, screenCalls } = settings
  return {
    label: label ?? "",
    ringMode,
    ringSeconds,
    screenCalls,
    ringTo: ringTo.map(({ phone, name }) => [phone, name ?? ""].join(" ").trim()).join("\n"),
    recordCalls: settings.recordCalls,
    recordingNotice: settings.recordingNotice,
    acknowledgeRecording: false,
    voicemail: settings.voicemail,
    voicemailGreeting: voicemailGreeting ?? "",
  }
}

const orNull = (text: string): string | null => (text.trim() === "" ? null : text.trim())

const linesOf = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")

function ringToOf(text: string) {
  return linesOf(text).map((line) => {
    const [, phone = line, name = ""] = /^(\+[\d().-]+)\s*(.*)$/.exec(line) ?? []
    return { phone, name: orNull(name) }
  })
}

function patchOf(id: string, former: Settings, values: Values) {
  const { recordCalls, acknowledgeRecording, recordingNotice, ringMode } = values
  return {
    id,
    label: orNull(values.label),
    ringMode,
    ringTo: ringToOf(values.ringTo),
    ringSeconds: Number(values.ringSeconds),
    screenCalls: values.screenCalls,
    recordCalls,
    ...(recordingNotice === former.recordingNotice
      ? {}
      : { recordingNotice: orNull(recordingNotice) }),
    voicemail: values.voicemail,
    voicemailGreeting: orNull(values.voicemailGreeting),
    ...(acknowledgeRecording ? { acknowledgeRecording } : {}),
  }
}

/** A button with a form for incoming calls of a number. */
export function ChangeNumber({ settings }: { readonly settings: Settings }) {
  return (
    <ApiCallButton<Values>
      label="Change"
      title="Incoming calls"
      description="Applies from the next call."
      initialValues={valuesOf(settings)}
      validators={{
        ringTo: (text) =>
          linesOf(text).length > 5
            ? "At most five phones"
            : linesOf(text).every((line) => line.startsWith("+"))
              ? null
              : "Must be one full number per line, such as +14155550123 Ada",
      }}
      changeOf={(values) => ({
        method: "PATCH",
        path: "/api/v1/phone/settings",
        body: { numbers: [patchOf(settings.id, settings, values)] },
      })}
      fields={(form) => <Fields form={form} isRecorded={settings.recordCalls} />}
      submitLabel="Save"
      successMessage="Applies from the next call."
    />
  )
}

interface FieldsProps {
  readonly form: UseFormReturnType<Values>
  readonly isRecorded: boolean
}

function Fields({ form, isRecorded }: FieldsProps) {
  const { recordCalls, voicemail } = form.values
  return (
    <>
      <TextInput label="Label" maxLength={40} {...form.getInputProps("label")} />
      <Textarea
        label="Phones that ring"
        description="One full number per line, followed by a name. Leave empty to go straight to voicemail."
        autosize
        minRows={2}
        {...form.getInputProps("ringTo")}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <Select
          label="Order"
          allowDeselect={false}
          data={[
            { value: "all", label: "All together" },
            { value: "order", label: "One after another" },
          ]}
          {...form.getInputProps("ringMode")}
        />
        <NumberInput
          label="Seconds"
          min={10}
          max={60}
          allowDecimal={false}
          {...form.getInputProps("ringSeconds")}
        />
      </SimpleGrid>
      <CheckboxField form={form} name="screenCalls" label="Press 1 to answer" />
      <CheckboxField form={form} name="voicemail" label="Callers can leave a message" />
      {voicemail ? (
        <Textarea
          label="Greeting"
          description="Leave empty for the default greeting"
          {...form.getInputProps("voicemailGreeting")}
        />
      ) : null}
      <CheckboxField form={form} name="recordCalls" label="Calls are recorded" />
      {recordCalls ? (
        <Textarea
          label="Recording notice for both sides"
          {...form.getInputProps("recordingNotice")}
        />
      ) : null}
      {recordCalls && !isRecorded ? (
        <CheckboxField
          form={form}
          name="acknowledgeRecording"
          label="You are responsible for the callers' consent to recording"
        />
      ) : null}
    </>
  )
}

interface TickedProps {
  readonly form: UseFormReturnType<Values>
  readonly name: "screenCalls" | "voicemail" | "recordCalls" | "acknowledgeRecording"
  readonly label: string
}

function CheckboxField({ form, name, label }: TickedProps) {
  return <Checkbox label={label} {...form.getInputProps(name, { type: "checkbox" })} />
}
