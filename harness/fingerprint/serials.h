// Serial numbers of PCI devices, out of what the kernel hands on of them as bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace pathproof::fingerprint {

// Returns the printable text, blanks in place of other bytes, without blanks at the end.
std::string printable_text(std::span<const std::uint8_t> bytes);

// A field of the read-only part of vital product data: "PN" the part number, "EC" the engineering change
// level; and the product's name.
std::string vpd_field(std::span<const std::uint8_t> vpd, char first, char second);
std::string vpd_name(std::span<const std::uint8_t> vpd);

// "SN" of the read-only part of vital product data (PCI Local Bus 3.0, appendix I; sysfs: vpd). Empty:
// it has none, or is no such data.
std::string vpd_serial(std::span<const std::uint8_t> vpd);

// Reads the Device Serial Number capability (PCI Express Base 7.9.3; sysfs: config), as lspci writes
// it: "00-11-22-ff-ff-33-44-55". Empty: the device has none.
std::string device_serial_number(std::span<const std::uint8_t> config);

}  // namespace pathproof::fingerprint
