# SPDX-License-Identifier: Apache-2.0
"""The Profiles messages of opentelemetry-proto 1.10, described by their field numbers, for a
decoder that is not ours:
Google's (python3-protobuf)."""
from otlp_test import need

descriptor_pb2 = need("google.protobuf.descriptor_pb2", "python3-protobuf")
descriptor_pool = need("google.protobuf.descriptor_pool", "python3-protobuf")
message_factory = need("google.protobuf.message_factory", "python3-protobuf")

# Name: type and number; "*" before a type: repeated, of others a message.
MESSAGES = {
    "AnyValue": "string_value=string:1 bool_value=bool:2 int_value=int64:3 bytes_value=bytes:7 "
                "string_value_strindex=int32:8",
    "KeyValue": "key=string:1 value=AnyValue:2 key_strindex=int32:3",
    "Resource": "attributes=*KeyValue:1 dropped_attributes_count=uint32:2",
    "InstrumentationScope": "name=string:1 version=string:2 attributes=*KeyValue:3 dropped_attributes_count=uint32:4",
    "ProfilesData": "resource_profiles=*ResourceProfiles:1 dictionary=ProfilesDictionary:2",
    "ResourceProfiles": "resource=Resource:1 scope_profiles=*ScopeProfiles:2 schema_url=string:3",
    "ScopeProfiles": "scope=InstrumentationScope:1 profiles=*Profile:2 schema_url=string:3",
    "ValueType": "type_strindex=int32:1 unit_strindex=int32:2",
    "Profile": "sample_type=ValueType:1 samples=*Sample:2 time_unix_nano=fixed64:3 duration_nano=uint64:4 "
               "period_type=ValueType:5 period=int64:6 profile_id=bytes:7 dropped_attributes_count=uint32:8 "
               "original_payload_format=string:9 original_payload=bytes:10 attribute_indices=*int32:11",
    "Sample": "stack_index=int32:1 attribute_indices=*int32:2 link_index=int32:3 values=*int64:4 "
              "timestamps_unix_nano=*fixed64:5",
    "ProfilesDictionary": "mapping_table=*Mapping:1 location_table=*Location:2 function_table=*Function:3 "
                          "link_table=*Link:4 string_table=*string:5 attribute_table=*KeyValueAndUnit:6 "
                          "stack_table=*Stack:7",
    "Mapping": "memory_start=uint64:1 memory_limit=uint64:2 file_offset=uint64:3 filename_strindex=int32:4 "
               "attribute_indices=*int32:5",
    "Stack": "location_indices=*int32:1",
    "Location": "mapping_index=int32:1 address=uint64:2 lines=*Line:3 attribute_indices=*int32:4",
    "Line": "function_index=int32:1 line=int64:2 column=int64:3",
    "Function": "name_strindex=int32:1 system_name_strindex=int32:2 filename_strindex=int32:3 start_line=int64:4",
    "Link": "trace_id=bytes:1 span_id=bytes:2",
    "KeyValueAndUnit": "key_strindex=int32:1 value=AnyValue:2 unit_strindex=int32:3",
}
ONEOF = {"AnyValue"}


def describe():
    """The class of ProfilesData."""
    types = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="profiles.proto", package="p", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        if name in ONEOF:
            message.oneof_decl.add(name="value")
        for field in fields.split():
            field_name, rest = field.split("=")
            kind, number = rest.split(":")
            entry = message.field.add(name=field_name, number=int(number))
            entry.label = types.LABEL_REPEATED if kind[0] == "*" else types.LABEL_OPTIONAL
            kind = kind.lstrip("*")
            if kind in MESSAGES:
                entry.type, entry.type_name = types.TYPE_MESSAGE, ".p." + kind
            else:
                entry.type = getattr(types, "TYPE_" + kind.upper())
            if name in ONEOF:
                entry.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("p.ProfilesData"))


ProfilesData = describe()


def parse(path):
    """The message; all of its fields are known, and its texts are UTF-8."""
    message = ProfilesData()
    with open(path, "rb") as file:
        data = file.read()
    message.ParseFromString(data)
    size = message.ByteSize()
    message.DiscardUnknownFields()
    assert message.ByteSize() == size, f"{path}: {size - message.ByteSize()} bytes of fields that do not exist"
    return message


def value_of(value):
    which = value.WhichOneof("value")
    return getattr(value, which) if which else None
